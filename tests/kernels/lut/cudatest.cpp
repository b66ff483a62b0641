// SPDX-License-Identifier: Apache-2.0
// The CUDA back end against the CPU: rows exactly, values within 1e-5. Skips where there is no device.
#include <QtTest>

#include "kernels/lut/cuda.h"
#include "tests/kernels/lut/samplelayer.h"

#include <algorithm>
#include <cmath>

using namespace retro::lut;
using namespace retro::luttest;

namespace
{

struct Results
{
    Status status;
    std::vector<float> output;
    Tape<float> tape;
    std::vector<float> inputGradients;
    std::vector<float> weightGradients;
    std::vector<float> codeGradients;
};

Results run(const SampleLayer<float>& sample, bool onDevice, Path path = Path::Fused, RowType type = RowType::Real)
{
    const std::uint64_t positions = sample.batch * sample.shape.length;
    Results results;
    results.output.resize(positions * sample.shape.outputs);
    results.inputGradients.resize(positions * sample.shape.inputs);
    results.weightGradients.resize(sample.weights.size());
    results.codeGradients.resize(sample.codes.size());
    std::optional<Layer<float>> layer;
    const std::vector<std::uint16_t> bits = narrowed(sample.weights, type);
    results.status = Layer<float>::create(sample.narrowDescription(bits, type), layer);
    const ForwardCall<float> there{sample.batch, sample.input, results.output, &results.tape};
    const BackwardCall<float> back{sample.batch,           &results.tape,           sample.outputGradients,
                                   results.inputGradients, results.weightGradients, results.codeGradients};
    std::unique_ptr<CudaLayer> device;
    if (results.status.ok() && onDevice) {
        results.status = CudaLayer::create(*layer, sample.batch, device, {path, kScratchLimit});
    }
    RunOptions<float> options;
    options.path = path;
    if (results.status.ok()) {
        results.status = onDevice ? device->forward(there) : forward<float>(*layer, there, options);
    }
    if (results.status.ok()) {
        results.status = onDevice ? device->backward(back) : backward<float>(*layer, back, options);
    }
    return results;
}

bool isNear(const std::vector<float>& a, const std::vector<float>& b)
{
    const auto near = [](float x, float y) { return std::abs(x - y) <= 1e-5F * std::max(1.0F, std::abs(y)); };
    return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), near);
}

} // namespace

class LutCudaTest : public QObject
{
    Q_OBJECT

private slots:
    void withoutADeviceItSaysSo()
    {
        const Status status = availability(Backend::Cuda);
        if (status.ok()) {
            QSKIP("there is a device");
        }
        const SampleLayer<float> sample({4, 3, 2, 2, 0, 1, false}, false, 2, 1);
        const Results results = run(sample, true);
        QCOMPARE(static_cast<int>(results.status.code), static_cast<int>(StatusCode::Unavailable));
        QCOMPARE(results.status.message, status.message);
        QVERIFY(QString::fromStdString(status.message).contains("the CPU back end takes over"));
    }

    void theDeviceGivesWhatTheCpuGives_data()
    {
        const Status status = availability(Backend::Cuda);
        if (!status.ok()) {
            QSKIP(status.message.c_str());
        }
        QTest::addColumn<int>("length");
        QTest::addColumn<int>("outputs");
        QTest::addColumn<bool>("sparse");
        for (const int length : {1, 2, 31, 32, 33, 65}) {
            for (const int outputs : {1, 16, 33}) {
                for (const bool sparse : {false, true}) {
                    QTest::addRow("S %d O %d %s", length, outputs, sparse ? "sparse" : "full")
                        << length << outputs << sparse;
                }
            }
        }
    }

    void theDeviceGivesWhatTheCpuGives()
    {
        QFETCH(int, length);
        QFETCH(int, outputs);
        QFETCH(bool, sparse);
        const bool isSequence = length > 1;
        const SampleLayer<float> sample({5, static_cast<std::uint32_t>(outputs), 3, 2, isSequence ? 1U : 0U,
                                         static_cast<std::uint32_t>(length), isSequence},
                                        sparse, isSequence ? 3 : 700, 3);
        for (const RowType type : {RowType::Real, RowType::Float16, RowType::BFloat16}) {
            for (const Path path : {Path::Fused, Path::Documented}) {
                compare(sample, path, type);
                if (QTest::currentTestFailed()) {
                    qInfo("rows %d, path %d", static_cast<int>(type), static_cast<int>(path));
                    return;
                }
            }
        }
    }

    void kernelsAreTimed()
    {
        CudaDevice found;
        const Status status = measureDevice(found);
        if (!status.ok()) {
            QSKIP(status.message.c_str());
        }
        QVERIFY(!found.name.empty() && found.copyBytesPerSecond > 0);
        const SampleLayer<float> sample({5, 16, 3, 2, 1, 9, true}, false, 3, 3);
        std::optional<Layer<float>> layer;
        std::unique_ptr<CudaLayer> device;
        QVERIFY(Layer<float>::create(sample.description(), layer).ok());
        QVERIFY(CudaLayer::create(*layer, sample.batch, device).ok());
        std::vector<double> seconds;
        QVERIFY(device->time(Pass::Forward, 3, seconds).ok());
        QCOMPARE(seconds.size(), std::size_t{3});
        QVERIFY(std::all_of(seconds.begin(), seconds.end(), [](double one) { return one > 0 && one < 60; }));
    }

private:
    static void compare(const SampleLayer<float>& sample, Path path, RowType type)
    {
        const Results cpu = run(sample, false, path, type);
        const Results device = run(sample, true, path, type);
        QVERIFY2(device.status.ok(), device.status.message.c_str());
        QVERIFY(device.tape.rows == cpu.tape.rows && device.tape.bits == cpu.tape.bits);
        QVERIFY(device.tape.codeRows == cpu.tape.codeRows && device.tape.codeBits == cpu.tape.codeBits);
        QVERIFY(isNear(device.output, cpu.output));
        QVERIFY(isNear(device.inputGradients, cpu.inputGradients));
        QVERIFY(isNear(device.weightGradients, cpu.weightGradients));
        QVERIFY(isNear(device.codeGradients, cpu.codeGradients));
        const Results again = run(sample, true, path, type);
        QVERIFY(again.output == device.output && again.inputGradients == device.inputGradients);
        QVERIFY(again.weightGradients == device.weightGradients);
    }
};

QTEST_GUILESS_MAIN(LutCudaTest)
#include "cudatest.moc"
