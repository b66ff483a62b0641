// SPDX-License-Identifier: Apache-2.0
// The CUDA back end against the CPU: rows exactly, values within 1e-5. Skips where there is no device.
#include <QtTest>

#include "tests/kernels/lut/results.h"

#include <algorithm>

using namespace retro::lut;
using namespace retro::luttest;

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
        const Layer<float> layer = layerOf(sample.description());
        const Results results = onCuda(sample, layer, Path::Fused);
        QCOMPARE(static_cast<int>(results.status.code), static_cast<int>(StatusCode::Unavailable));
        QCOMPARE(results.status.message, status.message);
        QVERIFY(QString::fromStdString(status.message).contains("CUDA"));
    }

    void theDeviceGivesWhatTheCpuGives_data()
    {
        const Status status = availability(Backend::Cuda);
        if (!status.ok()) {
            QSKIP(status.message.c_str());
        }
        addLayerRows({1, 2, 31, 32, 33, 65}, {1, 16, 33});
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
        std::optional<Layer<float>> layer;
        const std::vector<std::uint16_t> bits = narrowed(sample.weights, type);
        QVERIFY(Layer<float>::create(sample.narrowDescription(bits, type), layer).ok());
        const Results cpu = onCpu(sample, *layer, path);
        const Results device = onCuda(sample, *layer, path);
        QVERIFY2(device.status.ok(), device.status.message.c_str());
        QVERIFY(device.tape.rows == cpu.tape.rows && device.tape.bits == cpu.tape.bits);
        QVERIFY(device.tape.codeRows == cpu.tape.codeRows && device.tape.codeBits == cpu.tape.codeBits);
        QVERIFY(isNear(device.output, cpu.output));
        QVERIFY(isNear(device.inputGradients, cpu.inputGradients));
        QVERIFY(isNear(device.weightGradients, cpu.weightGradients));
        QVERIFY(isNear(device.codeGradients, cpu.codeGradients));
        const Results again = onCuda(sample, *layer, path);
        QVERIFY(again.output == device.output && again.inputGradients == device.inputGradients);
        QVERIFY(again.weightGradients == device.weightGradients);
        compareShares(sample, *layer, cpu);
    }
};

QTEST_GUILESS_MAIN(LutCudaTest)
#include "cudatest.moc"
