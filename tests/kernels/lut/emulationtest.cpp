// SPDX-License-Identifier: Apache-2.0
// The CUDA back end, all of it, on an emulated device: its kernels, what they are given, its streams and its graph.
// Rows equal those of the CPU back end exactly; so do values where sums have the same order.
#include <QtTest>

#include "kernels/lut/device/hostside.h"
#include "tests/kernels/emulation/device.h"
#include "tests/kernels/lut/results.h"

#include <algorithm>
#include <set>

using namespace retro;
using namespace retro::lut;
using namespace retro::luttest;
using emulation::Device;

namespace
{

LayerShape shapeOf(int length, int outputs)
{
    const bool isSequence = length > 1;
    return {
        5,         static_cast<std::uint32_t>(outputs), 3, 2, isSequence ? 1U : 0U, static_cast<std::uint32_t>(length),
        isSequence};
}

/// How often a character stands in a text.
auto countOf(const std::string& text, char one) { return std::count(text.begin(), text.end(), one); }

/// One kernel of a test.
cudaError_t run(unsigned threads, const std::function<void()>& kernel)
{
    cudaLaunchConfig_t config{};
    config.blockDim = dim3(threads);
    const cudaError_t failed = emulation::launchKernel(config, kernel);
    return failed != cudaSuccess ? failed : cudaStreamSynchronize(nullptr);
}

} // namespace

class LutEmulationTest : public QObject
{
    Q_OBJECT

private slots:
    void init() { Device::get().setBehaviour({}); }

    /// Nothing of the device may be left over.
    void cleanup()
    {
        const Device& device = Device::get();
        QCOMPARE(device.allocations(), std::size_t{0});
        QCOMPARE(device.count<emulation::Stream>(), std::size_t{0});
        QCOMPARE(device.count<emulation::Event>(), std::size_t{0});
        QCOMPARE(device.count<emulation::Graph>(), std::size_t{0});
        QCOMPARE(device.count<emulation::GraphExecutable>(), std::size_t{0});
    }

    void thereIsADevice() { QVERIFY(availability(Backend::Cuda).ok()); }

    void theDeviceGivesWhatTheCpuGives_data()
    {
        // How outputs are shared among lanes does not depend on the length either.
        addLayerRows({1, 2, 31, 32, 33, 65}, {1, 16, 33});
    }

    void theDeviceGivesWhatTheCpuGives()
    {
        QFETCH(int, length);
        for (const RowType type : {RowType::Real, RowType::Float16, RowType::BFloat16}) {
            for (const Path path : {Path::Fused, Path::Documented}) {
                if (type != RowType::Real && length > 2) {
                    continue; // how rows are read does not depend on the length
                }
                compare(type, path);
                if (QTest::currentTestFailed()) {
                    qInfo("rows %d, path %d", static_cast<int>(type), static_cast<int>(path));
                    return;
                }
            }
        }
    }

    /// Blocks, threads and independent nodes in other orders, and grids that hold next to nothing: the same bits.
    void nothingDependsOnTheOrder_data()
    {
        QTest::addColumn<int>("length");
        QTest::addColumn<bool>("sparse");
        QTest::addRow("full") << 1 << false;
        QTest::addRow("sparse") << 1 << true;
        QTest::addRow("full sequence") << 9 << false;
        QTest::addRow("sparse sequence") << 9 << true;
    }

    void nothingDependsOnTheOrder()
    {
        QFETCH(int, length);
        QFETCH(bool, sparse);
        const SampleLayer<float> sample(shapeOf(length, 17), sparse, length == 1 ? 100 : 2, 5);
        const Layer<float> layer = layerOf(sample.description());
        for (const Path path : {Path::Fused, Path::Documented}) {
            const Results expected = onCuda(sample, layer, path);
            QVERIFY2(expected.status.ok(), expected.status.message.c_str());
            for (unsigned seed = 2; seed < 5; ++seed) {
                Device::get().setBehaviour({seed, seed % 2 == 0 ? 1U : 3U, std::size_t{1} << 30});
                const Results ours = onCuda(sample, layer, path);
                QVERIFY2(ours.status.ok(), ours.status.message.c_str());
                QVERIFY(ours.tape.rows == expected.tape.rows && ours.output == expected.output);
                QVERIFY(ours.inputGradients == expected.inputGradients);
                QVERIFY(ours.weightGradients == expected.weightGradients);
                QVERIFY(ours.codeGradients == expected.codeGradients);
            }
        }
    }

    /// Each pass is one launch of a graph of its own, and the host waits once: behind the last copy.
    void aPassIsOneGraph_data() { nothingDependsOnTheOrder_data(); }

    void aPassIsOneGraph()
    {
        QFETCH(int, length);
        QFETCH(bool, sparse);
        const SampleLayer<float> sample(shapeOf(length, 7), sparse, 3, 5);
        std::optional<Layer<float>> layer;
        QVERIFY(Layer<float>::create(sample.description(), layer).ok());
        for (const Path path : {Path::Fused, Path::Documented}) {
            Results ours = emptyResults(*layer, sample.batch);
            const Results cpu = onCpu(sample, *layer, path);
            std::unique_ptr<CudaLayer> device;
            QVERIFY(CudaLayer::create(*layer, sample.batch, device, {path, kScratchLimit}).ok());
            QCOMPARE(Device::get().count<emulation::GraphExecutable>(), std::size_t{2});
            (void)Device::get().takeTrace();
            // Passes in any order, again and again.
            for (const Pass pass : {Pass::Forward, Pass::Backward, Pass::Backward, Pass::Forward, Pass::Forward}) {
                const Status status =
                    pass == Pass::Forward
                        ? device->forward({sample.batch, sample.input, ours.output, &ours.tape})
                        : device->backward({sample.batch, &ours.tape, sample.outputGradients, ours.inputGradients,
                                            ours.weightGradients, ours.codeGradients});
                QVERIFY2(status.ok(), status.message.c_str());
                const std::string trace = Device::get().takeTrace();
                QVERIFY2(countOf(trace, 'g') == 1 && countOf(trace, 's') == 1 && countOf(trace, 'k') == 0,
                         trace.c_str());
                QVERIFY2(trace.back() == 's', trace.c_str());
                QVERIFY(ours.output == cpu.output);
            }
            QVERIFY(isNear(ours.inputGradients, cpu.inputGradients));
            QVERIFY(ours.weightGradients == cpu.weightGradients);
            QCOMPARE(Device::get().count<emulation::GraphExecutable>(), std::size_t{2});
        }
    }

    /// What kernels read lies on the device: the host's arrays may change behind its back.
    void theLayerIsCopied()
    {
        for (const bool sparse : {false, true}) {
            SampleLayer<float> sample(shapeOf(9, 7), sparse, 3, 5);
            std::optional<Layer<float>> layer;
            QVERIFY(Layer<float>::create(sample.description(), layer).ok());
            for (const Path path : {Path::Fused, Path::Documented}) {
                const SampleLayer<float> kept = sample;
                Results ours = emptyResults(*layer, sample.batch);
                const Results cpu = onCpu(sample, *layer, path);
                std::unique_ptr<CudaLayer> device;
                QVERIFY(CudaLayer::create(*layer, sample.batch, device, {path, kScratchLimit}).ok());
                std::fill(sample.anchors.begin(), sample.anchors.end(), Anchor{0, 1});
                std::fill(sample.weights.begin(), sample.weights.end(), 99.0F);
                std::fill(sample.codes.begin(), sample.codes.end(), -1.0F);
                std::fill(sample.columns.begin(), sample.columns.end(), 0U);
                std::fill(sample.rowStarts.begin(), sample.rowStarts.end(), 0U);
                QVERIFY(device->forward({sample.batch, sample.input, ours.output, &ours.tape}).ok());
                QVERIFY(device
                            ->backward({sample.batch, &ours.tape, sample.outputGradients, ours.inputGradients,
                                        ours.weightGradients, ours.codeGradients})
                            .ok());
                QVERIFY(ours.output == cpu.output && ours.tape.rows == cpu.tape.rows);
                QVERIFY(isNear(ours.inputGradients, cpu.inputGradients));
                QVERIFY(ours.weightGradients == cpu.weightGradients);
                std::copy(kept.anchors.begin(), kept.anchors.end(), sample.anchors.begin());
                std::copy(kept.weights.begin(), kept.weights.end(), sample.weights.begin());
                std::copy(kept.codes.begin(), kept.codes.end(), sample.codes.begin());
                std::copy(kept.columns.begin(), kept.columns.end(), sample.columns.begin());
                std::copy(kept.rowStarts.begin(), kept.rowStarts.end(), sample.rowStarts.begin());
            }
        }
    }

    /// Each kernel of each schedule has something to launch, and time for it.
    void everyKernelIsLaunchedAndTimed()
    {
        std::set<KernelId> found;
        for (const int length : {1, 5}) {
            for (const bool sparse : {false, true}) {
                const SampleLayer<float> sample(shapeOf(length, 7), sparse, 3, 5);
                std::optional<Layer<float>> layer;
                QVERIFY(Layer<float>::create(sample.description(), layer).ok());
                for (const Path path : {Path::Fused, Path::Documented}) {
                    std::unique_ptr<CudaLayer> device;
                    QVERIFY(CudaLayer::create(*layer, sample.batch, device, {path, kScratchLimit}).ok());
                    for (const Pass pass : {Pass::Forward, Pass::Backward}) {
                        Schedule schedule;
                        QVERIFY(makeSchedule(requestOf(*layer, sample.batch, path, pass), schedule).ok());
                        (void)Device::get().takeTrace();
                        std::vector<double> seconds;
                        QVERIFY(device->time(pass, 2, seconds).ok());
                        QCOMPARE(seconds.size(), schedule.launches.size());
                        QVERIFY(std::all_of(seconds.begin(), seconds.end(), [](double one) { return one > 0; }));
                        QVERIFY(countOf(Device::get().takeTrace(), 'k') >= 2 * std::ssize(schedule.launches));
                        for (const Launch& launch : schedule.launches) {
                            found.insert(launch.kernel);
                        }
                    }
                }
            }
        }
        // All but the two of the relevance pass, which is not timed.
        QCOMPARE(found.size(), kKernelCount - 2);
    }

    void aDeviceThatIsTooSmallSaysSo()
    {
        const SampleLayer<float> sample(shapeOf(1, 7), false, 3, 5);
        std::optional<Layer<float>> layer;
        QVERIFY(Layer<float>::create(sample.description(), layer).ok());
        std::unique_ptr<CudaLayer> device;
        Device::get().setBehaviour({1, 1, 100});
        QCOMPARE(CudaLayer::create(*layer, sample.batch, device).message,
                 std::string("the layer does not fit the device: CUDA says out of memory"));
        Device::get().setBehaviour({1, 1, 700});
        QCOMPARE(CudaLayer::create(*layer, sample.batch, device).message,
                 std::string("the buffers of the batch do not fit the device: CUDA says out of memory"));
        QVERIFY(!device);
    }

    /// Dense scratch of the documented path, with the size that it needs; nothing is allocated.
    void scratchBeyondTheLimitIsRefused()
    {
        const SampleLayer<float> sample(shapeOf(33, 3), false, 2, 1);
        std::optional<Layer<float>> layer;
        QVERIFY(Layer<float>::create(sample.description(), layer).ok());
        std::unique_ptr<CudaLayer> device;
        // [2, 33, 3, 32] numbers, and 16 bytes for each of 2 · 3 · 528 main and twice as many alternative events.
        constexpr std::uint64_t kNeeded = 2 * 33 * 3 * 32 * 4 + 3 * 16 * 2 * 3 * 528;
        const Status status = CudaLayer::create(*layer, 2, device, {Path::Documented, kNeeded - 1});
        QCOMPARE(static_cast<int>(status.code), static_cast<int>(StatusCode::TooLarge));
        QVERIFY2(status.message.find(std::to_string(kNeeded)) != std::string::npos, status.message.c_str());
        QVERIFY(CudaLayer::create(*layer, 2, device, {Path::Documented, kNeeded}).ok());
        QCOMPARE(static_cast<int>(CudaLayer::create(*layer, std::uint64_t{1} << 61, device).code),
                 static_cast<int>(StatusCode::TooLarge));
    }

    /// Row choice and gather are one kernel where a block has a sample, or several; else two.
    void theForwardPassIsFused()
    {
        const auto kernels = [](std::uint32_t outputs, std::uint64_t batch, bool sparse) {
            const SampleLayer<float> sample({5, outputs, 3, 2, 0, 1, false}, sparse, batch, 5);
            std::optional<Layer<float>> layer;
            std::unique_ptr<CudaLayer> device;
            std::vector<double> seconds;
            Results ours;
            if (!Layer<float>::create(sample.description(), layer).ok() ||
                !CudaLayer::create(*layer, batch, device).ok()) {
                return -1L;
            }
            ours = emptyResults(*layer, batch);
            const Results cpu = onCpu(sample, *layer, Path::Fused);
            if (!device->forward({batch, sample.input, ours.output, &ours.tape}).ok() || ours.output != cpu.output ||
                ours.tape.rows != cpu.tape.rows) {
                return -2L;
            }
            (void)Device::get().takeTrace();
            return device->time(Pass::Forward, 1, seconds).ok() ? countOf(Device::get().takeTrace(), 'k') : -3L;
        };
        QCOMPARE(kernels(7, 40, false), 1L);
        QCOMPARE(kernels(256, 3, false), 1L);
        QCOMPARE(kernels(300, 1024, false), 1L);
        QCOMPARE(kernels(300, 40, false), 2L);
        QCOMPARE(kernels(7, 40, true), 2L);
    }

    void anotherBatchIsRefusedBeforeAnyLaunch()
    {
        const SampleLayer<float> sample(shapeOf(1, 7), false, 3, 5);
        std::optional<Layer<float>> layer;
        QVERIFY(Layer<float>::create(sample.description(), layer).ok());
        std::unique_ptr<CudaLayer> device;
        QVERIFY(CudaLayer::create(*layer, sample.batch, device).ok());
        Results ours = emptyResults(*layer, sample.batch);
        (void)Device::get().takeTrace();
        QCOMPARE(device->forward({2, sample.input, ours.output, &ours.tape}).message,
                 std::string("the layer on the device was made for a batch of 3, not 2"));
        QVERIFY(!device->forward({3, std::span(sample.input).first(4), ours.output, &ours.tape}).ok());
        QVERIFY(!device->backward({3, nullptr, sample.outputGradients, {}, {}, {}}).ok());
        QCOMPARE(Device::get().takeTrace(), std::string());
    }

    /// Small ones: sixteen lanes of each chosen row are sixteen fibers.
    void relevanceIsSharedAsOnTheCpu()
    {
        for (const int length : {1, 4}) {
            for (const bool sparse : {false, true}) {
                const SampleLayer<float> sample(shapeOf(length, 17), sparse, 3, 9);
                const Layer<float> layer = layerOf(sample.description());
                compareShares(sample, layer, onCpu(sample, layer, Path::Fused));
                if (QTest::currentTestFailed()) {
                    return;
                }
            }
        }
    }

    /// What the emulation would not be worth without: it notices.
    void faultsAreNoticed()
    {
        std::vector<int> host(8, 5);
        void* memory = nullptr;
        QCOMPARE(cudaMalloc(&memory, 16), cudaSuccess);
        QCOMPARE(cudaMemcpy(memory, host.data(), 17, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
        QCOMPARE(cudaMemcpy(host.data(), host.data() + 4, 8, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
        QCOMPARE(cudaMemcpy(host.data(), memory, 4, cudaMemcpyDeviceToHost), cudaSuccess);
        QCOMPARE(host.front(), -1); // what nobody wrote
        QCOMPARE(cudaFree(host.data()), cudaErrorInvalidValue);
        QCOMPARE(cudaFree(memory), cudaSuccess);
        QCOMPARE(run(2000, [] {}), cudaErrorInvalidConfiguration);
        QCOMPARE(run(32, [] { (void)__shfl_down_sync(0xFFFFU, 1, 8, 16); }), cudaErrorLaunchFailure);
        QVERIFY(Device::get().fault().find("outside of its mask") != std::string::npos);
        QCOMPARE(run(16, [] { (void)__shfl_down_sync(0xFFFFFFFFU, 1, 8, 16); }), cudaErrorLaunchFailure);
        QVERIFY(Device::get().fault().find("never comes") != std::string::npos);
        QCOMPARE(run(64,
                     [] {
                         if (threadIdx.x != 7) {
                             __syncthreads();
                         }
                     }),
                 cudaErrorLaunchFailure);
    }

    void shufflesReadOtherLanes()
    {
        std::vector<std::uint32_t> read(64);
        QCOMPARE(run(64,
                     [&] {
                         const std::uint32_t mask = threadIdx.x % 32 < 16 ? 0xFFFFU : 0xFFFF0000U;
                         read[threadIdx.x] = __shfl_down_sync(mask, threadIdx.x, 4U, 16U);
                     }),
                 cudaSuccess);
        for (std::uint32_t i = 0; i < 64; ++i) {
            QCOMPARE(read[i], i % 16 < 12 ? i + 4 : i);
        }
    }

    void barriersHoldTheBlock()
    {
        std::vector<std::uint32_t> written(256);
        std::vector<std::uint32_t> read(256);
        QCOMPARE(run(256,
                     [&] {
                         written[threadIdx.x] = threadIdx.x;
                         __syncthreads();
                         read[threadIdx.x] = written[(threadIdx.x + 100) % 256];
                         __syncthreads();
                         written[threadIdx.x] = 0;
                     }),
                 cudaSuccess);
        for (std::uint32_t i = 0; i < 256; ++i) {
            QCOMPARE(read[i], (i + 100) % 256);
        }
    }

    /// As CUDA has it: a capture holds no wait of the host, and must end where it began.
    void badCapturesAreRefused()
    {
        cudaStream_t streams[2]{};
        cudaEvent_t event = nullptr;
        for (cudaStream_t& stream : streams) {
            QCOMPARE(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
        }
        QCOMPARE(cudaEventCreate(&event), cudaSuccess);
        cudaGraph_t graph = nullptr;
        QCOMPARE(cudaStreamBeginCapture(streams[0], cudaStreamCaptureModeThreadLocal), cudaSuccess);
        QCOMPARE(cudaStreamSynchronize(streams[0]), cudaErrorStreamCaptureUnsupported);
        QCOMPARE(cudaStreamEndCapture(streams[0], &graph), cudaErrorStreamCaptureInvalidated);
        QCOMPARE(cudaStreamBeginCapture(streams[0], cudaStreamCaptureModeThreadLocal), cudaSuccess);
        QCOMPARE(cudaEventRecord(event, streams[0]), cudaSuccess);
        QCOMPARE(cudaStreamWaitEvent(streams[1], event), cudaSuccess);
        cudaLaunchConfig_t config{};
        config.stream = streams[1];
        QCOMPARE(emulation::launchKernel(config, [] {}), cudaSuccess);
        QCOMPARE(cudaStreamEndCapture(streams[0], &graph), cudaErrorStreamCaptureUnjoined);
        for (const cudaStream_t stream : streams) {
            QCOMPARE(cudaStreamDestroy(stream), cudaSuccess);
        }
        QCOMPARE(cudaEventDestroy(event), cudaSuccess);
    }

private:
    static void compare(RowType type, Path path)
    {
        QFETCH(int, length);
        QFETCH(int, outputs);
        QFETCH(bool, sparse);
        SampleLayer<float> sample(shapeOf(length, outputs), sparse, length == 1 ? 100 : length > 32 ? 1 : 2, 3);
        // Sums of sparse rows have another order on the fused path; on the grid they are exact all the same.
        const bool isExact = !sparse || path == Path::Documented;
        for (float& weight : sample.weights) {
            weight *= isExact ? 0.1F : 1.0F;
        }
        const std::vector<std::uint16_t> bits = narrowed(sample.weights, type);
        const Layer<float> layer = layerOf(sample.narrowDescription(bits, type));
        const Results cpu = onCpu(sample, layer, path);
        QVERIFY2(cpu.status.ok(), cpu.status.message.c_str());
        const Results device = onCuda(sample, layer, path);
        QVERIFY2(device.status.ok(), device.status.message.c_str());
        expectSame(device, cpu, isExact);
    }
};

QTEST_GUILESS_MAIN(LutEmulationTest)
#include "emulationtest.moc"
