// SPDX-License-Identifier: Apache-2.0
// Models of LUT layers: every engine gives the same bits, gradients pass, and both file formats carry them.
#include "core/base/file.h"
#include "core/engine/explain/explain.h"
#include "core/engine/gradient/gradient.h"
#include "core/engine/lut/lutcaserun.h"
#include "core/engine/lut/lutpath.h"
#include "core/engine/plan/passplanning.h"
#include "core/engine/plan/plannedsaving.h"
#include "core/engine/question/resolve.h"
#include "core/engine/results/results.h"
#include "core/engine/verify/verify.h"
#include "core/event/launchevent.h"
#include "core/formats/graphjson.h"
#include "core/formats/onnx.h"
#include "core/graph/graphbuilder.h"
#include "core/ops/algebra.h"
#include "core/trace/breakpoints.h"
#include "core/trace/describe.h"
#include "core/trace/lutdetail.h"
#include "core/trace/lutlaunch.h"
#include "core/trace/runfile.h"
#include "core/trace/timeline.h"
#include "kernels/lut/schedule.h"

#include <QtTest>

#include <QTemporaryDir>

#include <algorithm>
#include <random>
#include <set>

using namespace retro;
using tensor::DType;
using tensor::Shape;
using tensor::Tensor;

namespace
{

/// Multiples of 1/16: differences are often zero or equal.
Tensor grid(const Shape& shape, std::mt19937& random)
{
    std::vector<float> values(static_cast<std::size_t>(tensor::elementCount(shape)));
    for (float& value : values) {
        value = static_cast<float>(static_cast<int>(random() % 65) - 32) / 16;
    }
    return Tensor::of<float>(shape, values);
}

/// x + LUT(x) over a sequence, then a LUT over each position, then the mean over positions and a sum with a branch of
/// its own: two ways lead back to x, so that promises are raised.
class ModelMaker
{
public:
    /// `rows`: type that the tables' weights are stored in.
    explicit ModelMaker(unsigned seed, DType rows = DType::Float32, std::int64_t tables = 3)
        : m_random(seed), m_rows(rows), m_tables(tables)
    {
        m_builder.setOpset("", 18);
        m_builder.setOpset("ai.retrograde", 1);
    }

    graph::Graph make()
    {
        const base::ValueId x = m_builder.addInput("x", DType::Float32, Shape{2, kLength, kWidth});
        const base::ValueId attended = lut("attend", x, true);
        const base::ValueId h = node("Add", "residual", {x, attended});
        const base::ValueId f = lut("feed", h, false);
        const base::ValueId y = node("Add", "sum", {h, f});
        const base::ValueId pooled = node("ReduceMean", "pool", {y, axis()}, {{"keepdims", std::int64_t{0}}});
        m_builder.addOutput(node("Relu", "relu", {pooled}));
        return std::move(m_builder).build().value();
    }

private:
    static constexpr std::int64_t kLength = 5;
    static constexpr std::int64_t kWidth = 6;

    base::ValueId axis()
    {
        return m_builder.addConstant("axes", Tensor::of<std::int64_t>({1}, std::vector<std::int64_t>{1}));
    }

    base::ValueId node(const std::string& op, const std::string& name, std::vector<base::ValueId> inputs,
                       graph::Attributes attributes = {}, const std::string& domain = {})
    {
        const base::ValueId result = m_builder.addResult(name + "_out");
        m_builder.addNode({op, domain, name, "", domain.empty() ? 18 : 1, std::move(inputs), {result}, attributes});
        return result;
    }

    base::ValueId lut(const std::string& name, base::ValueId x, bool isSequence)
    {
        const std::int64_t comparisons = isSequence ? 2 : 3;
        std::vector<std::int64_t> anchors;
        for (std::int64_t i = 0; i < m_tables * comparisons; ++i) {
            const auto a = static_cast<std::int64_t>(m_random() % kWidth);
            anchors.insert(anchors.end(), {a, (a + 1 + static_cast<std::int64_t>(m_random() % (kWidth - 1))) % kWidth});
        }
        const std::int64_t rows = isSequence ? 32 : 8;
        std::vector<base::ValueId> inputs{
            x, m_builder.addConstant(name + "_anchors", Tensor::of<std::int64_t>({m_tables, comparisons, 2}, anchors)),
            m_builder.addConstant(name + "_rows", grid({m_tables, rows, kWidth}, m_random).to(m_rows))};
        if (isSequence) {
            inputs.push_back(m_builder.addConstant(name + "_codes", grid({kLength - 1, m_tables, 1}, m_random)));
        }
        return node("LUT", name, std::move(inputs), {{"sequence", std::int64_t{isSequence ? 1 : 0}}}, "ai.retrograde");
    }

    std::mt19937 m_random;
    DType m_rows;
    std::int64_t m_tables;
    graph::GraphBuilder m_builder{"lut model"};
};

engine::LoadedModelPointer load(unsigned seed)
{
    auto model = engine::parseModel(formats::toOnnx(ModelMaker(seed).make()).value(), "lut.onnx", {});
    return model.ok() ? *model : nullptr;
}

engine::ExplainRequest question(unsigned seed)
{
    std::mt19937 random(seed + 1000);
    engine::ExplainRequest request;
    request.inputs = {grid({2, 5, 6}, random)};
    request.composite = "epsilon";
    request.target = engine::parseTarget("relu_out").value();
    return request;
}

/// The first event from `step` on that tells of no kernel.
std::size_t behindLaunches(const trace::Run& run, std::size_t step)
{
    const auto isOfKernel = [](const event::Event& one) {
        return one.kind == event::EventKind::Launch || one.kind == event::EventKind::Buffer;
    };
    while (isOfKernel(run.events[step])) {
        ++step;
    }
    return step;
}

double sumOf(const Tensor& t) { return t.isValid() ? ops::algebra::sum(t) : 0; }

} // namespace

class LutModelTest : public QObject
{
    Q_OBJECT

private slots:
    void everyEngineGivesTheSameBits()
    {
        for (unsigned seed = 1; seed <= 6; ++seed) {
            RETRO_MADE(model, load(seed));
            for (const execute::Precision precision : {execute::Precision::Float, execute::Precision::Double}) {
                engine::ExplainRequest request = question(seed);
                request.precision = precision;
                request.engine = engine::EngineKind::Oracle;
                RETRO_MADE(oracle, engine::explain(*model, request));
                request.engine = engine::EngineKind::Promise;
                const auto promise = engine::explain(*model, request);
                request.save = execute::SavePolicy::All;
                const auto all = engine::explain(*model, request);
                request.save = execute::SavePolicy::Autograd;
                request.engine = engine::EngineKind::Compiled;
                const auto compiled = engine::explain(*model, request);
                QVERIFY(promise.ok() && all.ok() && compiled.ok());
                for (std::size_t i = 0; i < oracle->relevance.size(); ++i) {
                    for (const auto* other : {&*promise, &*all, &*compiled}) {
                        const bool isThere = other->relevance[i].isValid();
                        QCOMPARE(isThere, oracle->relevance[i].isValid());
                        QVERIFY(!isThere || other->relevance[i].bitEqual(oracle->relevance[i]));
                    }
                }
            }
        }
    }

    void theLedgerIsExact()
    {
        for (unsigned seed = 1; seed <= 6; ++seed) {
            RETRO_MADE(model, load(seed));
            engine::ExplainRequest request = question(seed);
            request.record = true;
            RETRO_MADE(result, engine::explain(*model, request));
            double balance = result->relevanceStart;
            for (const event::LedgerEntry& row : result->ledger) {
                QVERIFY(std::abs(row.unexplained()) <= 1e-5 * std::max(row.magnitude, 1e-3));
                balance -= row.arrived - row.handedOn;
            }
            QVERIFY(!result->ledger.empty());
            QVERIFY(std::abs(balance - result->relevanceInputs) <= 1e-4 * std::max(1.0, std::abs(balance)));
        }
    }

    /// The operator keeps its operands, so its result can always be computed again: no search goes past it.
    void rolesFollowFromWhatIsKept()
    {
        RETRO_MADE(model, load(1));
        RETRO_MADE(result, engine::explain(*model, question(1)));
        const graph::Graph& graph = result->model->graph();
        for (const char* name : {"attend", "feed"}) {
            RETRO_MADE(id, graph.findNode(name));
            QVERIFY(result->rules[id->index()].rule.starts_with("lut flip-contrast"));
        }
    }

    /// A breakpoint on a buffer stops where a kernel wrote it, both ways, with the number before and after.
    void breakpointsStopAtBuffers()
    {
        RETRO_MADE(model, load(1));
        engine::ExplainRequest request = question(1);
        request.composite = "gradient";
        request.record = true;
        RETRO_MADE(result, engine::explain(*model, request));
        const trace::Run& run = *result->run;
        const std::uint32_t node = run.graph->findNode("attend")->value;
        std::vector<std::uint64_t> changes;
        double sum = 0;
        for (std::size_t step = 0; step < run.events.size(); ++step) {
            const event::Event& e = run.events[step];
            const bool isWritten = e.kind == event::EventKind::Buffer && (e.flag & event::kBufferWritten) != 0;
            if (isWritten && e.node == node && trace::bufferName(e) == "Lookup Indices") {
                const double now = run.handles[e.handle].sum;
                if (now != sum) {
                    changes.push_back(step + 1);
                }
                sum = now;
            }
        }
        QVERIFY(!changes.empty());
        const char* text = "buffer Lookup Indices of attend sum changes";
        RETRO_MADE(parsed, trace::parseBreakpoint(run, text));
        QCOMPARE(trace::source(run, *parsed), std::string(text));
        QCOMPARE(trace::allStops(run, *parsed), changes);
        QCOMPARE(trace::nextStop(run, *parsed, 0).value(), changes.front());
        QVERIFY(!trace::nextStop(run, *parsed, changes.back()).has_value());
        QCOMPARE(trace::previousStop(run, *parsed, run.eventCount() + 1).value(), changes.back());
        QVERIFY(trace::whyStopped(run, *parsed, changes.front()).ends_with("when choose_rows wrote it"));
        const auto never = trace::parseBreakpoint(run, "buffer Lookup Indices of attend max crosses 1e9");
        QVERIFY(never.ok() && trace::allStops(run, *never).empty());
        QVERIFY(!trace::parseBreakpoint(run, "buffer Nonsense of attend sum changes").ok());
        QVERIFY(!trace::parseBreakpoint(run, "buffer Lookup Indices of nobody sum changes").ok());
    }

    /// Kernels are told when they ran: those of the forward pass first, then those of a rule before it, in the visit of
    /// that node, and those of an output that is computed again for a promise before it is there. Each has its time and
    /// the buffers that it touched; the timeline goes over them in both directions.
    void kernelsAreEvents_data()
    {
        QTest::addColumn<QString>("composite");
        QTest::addColumn<bool>("documented");
        QTest::addColumn<QStringList>("attend");
        QTest::addColumn<QStringList>("feed");
        const QStringList choose{"choose_rows 0", "check_positional_embeddings 1", "gather_pairs 0"};
        QTest::newRow("relevance") << "epsilon" << false
                                   << choose + QStringList{"share_relevance 0", "sum_code_relevance 0"}
                                   << QStringList{"choose_rows_and_gather 0", "share_relevance 0"};
        QTest::newRow("gradient") << "gradient" << false
                                  << choose + QStringList{"score_pairs 0", "propagate_positions 0"}
                                  << QStringList{"choose_rows_and_gather 0", "score_and_propagate 0"};
        QTest::newRow("stopped") << "epsilon | op:LUT=stop" << false << QStringList() << QStringList();
        const QStringList stages{"check_detectors_for_sequence 0", "check_positional_embeddings 1",
                                 "fill_after_detectors_firing_stat 0", "densify_firing_stat 0",
                                 "fill_outputs_by_sparse_firings 0"};
        const QStringList fill{"check_detectors 0", "fill_outputs_fully_connected 0"};
        QTest::newRow("documented relevance")
            << "epsilon" << true << stages + QStringList{"share_relevance 0", "sum_code_relevance 0"}
            << fill + QStringList{"share_relevance 0"};
        QTest::newRow("documented gradient")
            << "gradient" << true
            << stages + QStringList{"gather_x_gradients_for_sequence 0",
                                    "gather_w_gradients_for_sequence 1",
                                    "gather_x_gradients_for_sequence 2",
                                    "propagate_through_detectors_for_sequence 0",
                                    "cleanup 0",
                                    "cleanup 0"}
            << fill + QStringList{"gather_x_gradients_fully_connected 0", "gather_x_gradients_fully_connected 1",
                                  "gather_w_gradients_fully_connected 2", "propagate_through_detectors 0"};
    }

    void kernelsAreEvents()
    {
        QFETCH(QString, composite);
        QFETCH(bool, documented);
        RETRO_MADE(model, load(1));
        model = engine::withLutPath(model, documented ? lut::Path::Documented : lut::Path::Fused).value();
        engine::ExplainRequest request = question(1);
        request.composite = composite.toStdString();
        request.record = true;
        RETRO_MADE(result, engine::explain(*model, request));
        const trace::Run& run = *result->run;
        QMap<QString, QStringList> launched{{"attend", {}}, {"feed", {}}};
        QMap<QString, QStringList> forward = launched;
        QMap<QString, QStringList> again = launched; // for a promise that asks for the layer's output
        for (std::size_t step = 0; step < run.events.size(); ++step) {
            const event::Event& e = run.events[step];
            if (e.kind == event::EventKind::Buffer) {
                const bool isNext = run.events[step - 1].kind == event::EventKind::Launch ||
                                    run.events[step - 1].kind == event::EventKind::Buffer;
                QVERIFY(isNext && e.node == run.events[step - 1].node && e.slot == run.events[step - 1].slot);
                QVERIFY(e.flag != 0 && e.handle < run.handles.size() && run.tensors[e.handle].isValid());
                QVERIFY(trace::describe(run, step).find(trace::bufferName(e)) != std::string::npos);
            }
            if (e.kind != event::EventKind::Launch) {
                continue;
            }
            QVERIFY2(event::secondsIn(e).has_value(), trace::kernelName(e).c_str());
            const std::string kernel = trace::kernelName(e);
            const QString node = QString::fromStdString(run.graph->node(base::NodeId(e.node)).name);
            const std::size_t end = behindLaunches(run, step);
            const bool isForward = step < run.visitStart.front();
            const bool isAgain = !isForward && run.events[end].kind == event::EventKind::Arg;
            (isForward ? forward
             : isAgain ? again
                       : launched)[node]
                << QStringLiteral("%1 %2").arg(QString::fromStdString(kernel)).arg(e.branch2);
            QCOMPARE(e.visit, run.visitOf(step));
            QCOMPARE(run.events[step + 1].kind, event::EventKind::Buffer);
            QVERIFY(isForward || isAgain || run.events[end].kind == event::EventKind::Rule);
            QVERIFY(isForward || run.events[end].node == e.node);
            const std::string text = trace::describe(run, step);
            QVERIFY(text.find(kernel) != std::string::npos);
            RETRO_SAYS(text, ": reads ", "; writes ");
            std::string written;
            for (std::size_t at = step + 1; run.events[at].kind == event::EventKind::Buffer; ++at) {
                if ((run.events[at].flag & event::kBufferWritten) != 0) {
                    written += (written.empty() ? "" : ", ") + trace::bufferName(run.events[at]);
                }
            }
            QVERIFY(kernel != "choose_rows" || text.ends_with("reads Input, Anchors; writes " + written));
            // A pass that nobody differentiates needs the rows alone.
            QVERIFY(kernel != "choose_rows" || !isForward || written == "Lookup Indices");
        }
        const QStringList stages{"check_detectors_for_sequence 0", "check_positional_embeddings 1",
                                 "fill_after_detectors_firing_stat 0", "densify_firing_stat 0",
                                 "fill_outputs_by_sparse_firings 0"};
        QCOMPARE(forward["attend"],
                 documented ? stages
                            : QStringList({"choose_rows 0", "check_positional_embeddings 1", "gather_pairs 0"}));
        QCOMPARE(forward["feed"], documented ? QStringList({"check_detectors 0", "fill_outputs_fully_connected 0"})
                                             : QStringList({"choose_rows_and_gather 0"}));
        // Rules of the sums read what was added, which nobody kept; a gradient reads none of it.
        const bool isRead = composite != "gradient";
        for (const char* node : {"attend", "feed"}) {
            QCOMPARE(again[node], isRead ? forward[node] : QStringList());
        }
        QTEST(launched["attend"], "attend");
        QTEST(launched["feed"], "feed");
        RETRO_MADE(timeline, trace::Timeline::open(result->run));
    }

    /// On a GPU the same rows are chosen and relevance is the same to 1e-5. Without one `cuda` says why it cannot be,
    /// and `auto` runs on the CPU, bit for bit, and says so.
    void layersRunWhereTheyAreAskedTo()
    {
        const auto loaded = load(1);
        const auto onDevice = engine::withLutBackend(loaded, lut::Backend::Cuda);
        QVERIFY(onDevice.ok() && *onDevice != loaded);
        const auto cpu = engine::explain(*loaded, question(1));
        const auto other = engine::explain(**onDevice, question(1));
        QVERIFY2(cpu.ok() && other.ok(), other.ok() ? "" : other.error().text().c_str());
        const auto x = loaded->graph()->findValue("x");
        const Tensor& expected = cpu->relevance[x->index()];
        const Tensor& ours = other->relevance[x->index()];
        const engine::LutPlace place = engine::lutPlace(*(*onDevice)->graph(), DType::Float32);
        engine::Question asked;
        asked.lutBackend = "cuda";
        const auto sample = engine::loadModel(RETRO_SOURCE_DIR "/samples/lut-digits/lut-digits.onnx", asked);
        if (lut::availability(lut::Backend::Cuda).ok()) {
            QVERIFY(sample.ok() && place.backend == lut::Backend::Cuda && place.why.empty());
            for (std::int64_t i = 0; i < expected.size(); ++i) {
                QVERIFY(std::abs(ours.at(i) - expected.at(i)) <= 1e-5);
            }
        } else {
            QVERIFY(!sample.ok() && sample.error().text().find("--lut-backend cuda: ") != std::string::npos);
            QVERIFY(place.backend == lut::Backend::Cpu && !place.why.empty());
            QVERIFY(ours.bitEqual(expected));
        }
        QVERIFY(!engine::lutPlace(*(*onDevice)->graph(), DType::Float64).why.empty());
        QVERIFY(engine::lutPlace(*loaded->graph(), DType::Float64).why.empty());
        asked.precision = "double";
        const auto refused = engine::loadModel(RETRO_SOURCE_DIR "/samples/lut-digits/lut-digits.onnx", asked);
        QVERIFY(!refused.ok() && refused.error().text().find("float32 alone") != std::string::npos);
    }

    /// A run that was saved and opened again has all that its layers' views show, tables of more than 4 KiB too.
    void savedRunsKeepTheirTables()
    {
        auto parsed =
            engine::parseModel(formats::toOnnx(ModelMaker(1, DType::Float32, 40).make()).value(), "lut.onnx", {});
        QVERIFY(parsed.ok());
        engine::ExplainRequest request = question(1);
        request.record = request.keepValues = true;
        RETRO_MADE(result, engine::explain(**parsed, request));
        const QTemporaryDir folder;
        const std::filesystem::path file = folder.filePath("lut.retro").toStdString();
        QVERIFY(trace::writeRun(file, *result->run).ok());
        RETRO_MADE(again, trace::readRun(file));
        for (const char* name : {"attend", "feed"}) {
            const base::NodeId node = *result->run->graph->findNode(name);
            const auto before = trace::lutDetail(*result->run, node);
            const auto after = trace::lutDetail(**again, node);
            QVERIFY2(before.ok() && after.ok(), after.ok() ? "" : after.error().text().c_str());
            QVERIFY(before->weights.bytes() > 4096);
            QVERIFY(after->weights.bitEqual(before->weights) && after->input.bitEqual(before->input));
            QVERIFY(after->anchors.size() == before->anchors.size());
            QVERIFY(after->choices.rows.bitEqual(before->choices.rows));
            QVERIFY(after->relevance && after->relevance->tables.bitEqual(before->relevance->tables));
        }
    }

    /// What a launch left in the buffers: on the documented path each pair of positions is counted once, then listed as
    /// an event; what the last forward launch leaves as output, and the last backward one as gradients, are those of
    /// the case.
    void launchesShowTheirBuffers()
    {
        RETRO_MADE(given, formats::readLutCase(RETRO_SOURCE_DIR "/tests/data/golden/lut/fc_seq_random.json"));
        engine::LutRunOptions options;
        options.path = lut::Path::Documented;
        options.isDouble = true;
        RETRO_MADE(result, engine::recordLutCase(*given, options));
        const auto bufferOf = [](const trace::LaunchDetail& detail, lut::BufferId id) {
            const auto at = std::ranges::find(detail.buffers, id, &ops::TableBuffer::id);
            return at == detail.buffers.end() ? ops::TableBuffer() : *at;
        };
        const auto total = [](const Tensor& values, std::int64_t column, std::int64_t columns) {
            double sum = 0;
            for (std::int64_t i = column; i < values.size(); i += columns) {
                sum += values.at(i);
            }
            return sum;
        };
        std::set<lut::KernelId> seen;
        for (std::size_t step = 0; step < result->run->events.size(); ++step) {
            const event::Event& e = result->run->events[step];
            if (e.kind != event::EventKind::Launch) {
                QVERIFY(!trace::launchDetail(*result->run, step).ok());
                continue;
            }
            RETRO_MADE(detail, trace::launchDetail(*result->run, step));
            const auto kernel = static_cast<lut::KernelId>(event::kernelIn(e));
            seen.insert(kernel);
            const ops::TableBuffer counted = bufferOf(*detail, lut::BufferId::FiringStatistics);
            const ops::TableBuffer main = bufferOf(*detail, lut::BufferId::MainFiringEvents);
            const auto positions = bufferOf(*detail, lut::BufferId::LookupIndices).values.shape();
            const auto length = static_cast<double>(positions.at(1));
            const double pairs =
                static_cast<double>(positions.at(0)) * static_cast<double>(positions.at(2)) * length * (length - 1) / 2;
            if (kernel == lut::KernelId::FillAfterDetectorsFiringStat) {
                QVERIFY(std::abs(total(counted.values, 0, 1) - pairs) < 1e-6);
                QCOMPARE(main.count, std::uint64_t{0});
                QVERIFY(counted.isWritten && !counted.isRead && counted.most >= 1);
            } else if (kernel == lut::KernelId::DensifyFiringStat) {
                QCOMPARE(counted.nonZeros, std::uint64_t{0});
                QCOMPARE(total(main.values, 3, 4), pairs);
                QVERIFY(ops::columnsOf(main.id).size() == 4 && main.isWritten);
            } else if (kernel == lut::KernelId::FillOutputsBySparseFirings) {
                const std::vector<double>& expected = given->expected.at("forward.output");
                const ops::TableBuffer output = bufferOf(*detail, lut::BufferId::Output);
                QCOMPARE(output.count, std::uint64_t{expected.size()});
                for (std::size_t i = 0; i < expected.size(); ++i) {
                    QVERIFY(std::abs(output.values.at(static_cast<std::int64_t>(i)) - expected[i]) < 1e-6);
                }
            } else if (kernel == lut::KernelId::GatherXGradientsForSequence) {
                QVERIFY(bufferOf(*detail, lut::BufferId::BeforeDetectorsGradients).nonZeros > 0);
            } else if (kernel == lut::KernelId::PropagateThroughDetectorsForSequence) {
                const std::vector<double>& expected = given->expected.at("backward.dx");
                const ops::TableBuffer dx = bufferOf(*detail, lut::BufferId::InputGradients);
                for (std::size_t i = 0; i < expected.size(); ++i) {
                    QVERIFY(std::abs(dx.values.at(static_cast<std::int64_t>(i)) - expected[i]) < 1e-6);
                }
            }
        }
        QVERIFY(seen.contains(lut::KernelId::FillAfterDetectorsFiringStat));
        QVERIFY(seen.contains(lut::KernelId::PropagateThroughDetectorsForSequence));
    }

    /// Maps are of the share that the rule has; a gradient, which is no relevance, has none.
    void mapsAreThoseOfTheRule()
    {
        RETRO_MADE(model, load(1));
        const auto detailUnder = [&](const char* composite) {
            engine::ExplainRequest request = question(1);
            request.composite = composite;
            request.precision = execute::Precision::Double;
            request.record = request.keepValues = true;
            const auto result = engine::explain(*model, request);
            const auto node = result.ok() ? result->run->graph->findNode("feed") : std::nullopt;
            auto detail = node ? trace::lutDetail(*result->run, *node) : base::usageError("no such node");
            return detail.ok() ? std::move(detail->relevance) : std::nullopt;
        };
        const auto usual = detailUnder("epsilon");
        const auto weakest = detailUnder("epsilon | op:LUT=lut:share=weakest-bit");
        QVERIFY(usual.has_value() && weakest.has_value());
        QVERIFY(!usual->comparisons.bitEqual(weakest->comparisons));
        const std::int64_t bits = weakest->comparisons.shape().back();
        for (std::int64_t table = 0; table < weakest->tables.size(); ++table) {
            int touched = 0;
            for (std::int64_t bit = 0; bit < bits; ++bit) {
                touched += weakest->comparisons.at(table * bits + bit) != 0 ? 1 : 0;
            }
            QVERIFY(touched <= 1);
        }
        QVERIFY(!detailUnder("gradient").has_value());
        QVERIFY(!detailUnder("epsilon | op:LUT=stop").has_value());
    }

    void casesAreRecorded_data()
    {
        QTest::addColumn<QString>("file");
        QTest::addColumn<bool>("documented");
        for (const char* file :
             {"fc_nonseq_random", "fc_seq_random", "sparse_nonseq_random", "sparse_seq_random", "sparse_seq_tiny"}) {
            QTest::addRow("%s, fused", file) << file << false;
            QTest::addRow("%s, documented", file) << file << true;
        }
    }

    /// A LUT case as a run: every launch of its forward and backward pass, and the gradient that the case expects.
    void casesAreRecorded()
    {
        QFETCH(QString, file);
        QFETCH(bool, documented);
        RETRO_MADE(given, formats::readLutCase(std::filesystem::path(RETRO_SOURCE_DIR "/tests/data/golden/lut") /
                                               (file.toStdString() + ".json")));
        engine::LutRunOptions options;
        options.path = documented ? lut::Path::Documented : lut::Path::Fused;
        options.isDouble = true;
        RETRO_MADE(result, engine::recordLutCase(*given, options));
        std::vector<std::string> launched;
        for (const event::Event& e : result->run->events) {
            if (e.kind == event::EventKind::Launch) {
                launched.push_back(trace::kernelName(e));
            }
        }
        const auto alone = engine::runLutCase(*given, options);
        QVERIFY(alone.ok() && alone->backward.has_value());
        std::vector<std::string> expected;
        for (const lut::Schedule* schedule : {&alone->forward, &alone->forward, &*alone->backward}) {
            for (const lut::Launch& launch : schedule->launches) {
                const bool isLeftOut = launch.kernel == lut::KernelId::SumWeightGradients ||
                                       launch.kernel == lut::KernelId::SumPairWeightGradients ||
                                       (!documented && launch.kernel == lut::KernelId::PropagatePositionalEmbeddings);
                if (!isLeftOut) { // nobody asks for the gradients of the weights and codes
                    expected.emplace_back(lut::nameOf(launch.kernel));
                }
            }
        }
        QCOMPARE(launched, expected);
        RETRO_MADE(x, result->model->graph().findValue("x"));
        const Tensor& gradient = result->relevance[x->index()];
        const std::vector<double>& dx = given->expected.at("backward.dx");
        QCOMPARE(gradient.size(), static_cast<std::int64_t>(dx.size()));
        for (std::size_t i = 0; i < dx.size(); ++i) {
            QVERIFY(std::abs(gradient.at(static_cast<std::int64_t>(i)) - dx[i]) <
                    1e-6 * std::max(1.0, std::abs(dx[i])));
        }
        formats::LutCase forwardOnly = *given;
        forwardOnly.outputGradients.clear();
        QVERIFY(!engine::recordLutCase(forwardOnly, options).ok());
    }

    /// A plan counts what the passes of LUT layers hold, on either path, and what is measured is that, step by step. It
    /// says what decided in the layers, though nothing was recorded.
    void plansCountWorkspace()
    {
        for (const lut::Path path : {lut::Path::Fused, lut::Path::Documented}) {
            RETRO_MADE(model, engine::withLutPath(load(5), path));
            for (const char* composite : {"epsilon", "gradient"}) {
                engine::ExplainRequest request = question(5);
                request.composite = composite;
                RETRO_MADE(planning, engine::passPlanningOf(**model, request, analysis::JointKind::Relevance));
                const analysis::OpGraph& graph = planning->program->graph();
                QVERIFY(graph.op(graph.findOp("attend")).workspace > 0);
                QCOMPARE(graph.op(graph.findOp("feed")).workspace > 0, path == lut::Path::Documented);
                QVERIFY(graph.op(graph.findOp("r:x")).workspace >= graph.op(graph.findOp("attend")).workspace);
                QVERIFY(graph.op(graph.findOp("r:residual_out")).workspace > 0);
                request.save = execute::SavePolicy::Plan;
                request.keptByPlan = engine::keptBy({});
                RETRO_MADE(made, engine::explain(**model, request));
                for (const runtime::StepRecord& step : made->carried->run->steps) {
                    QCOMPARE(step.measured.transient, step.predicted.transient);
                }
                QCOMPARE(engine::lutLayersOf(*made).size(), std::size_t{composite == std::string("epsilon") ? 2U : 0U});
            }
        }
    }

    void gradientsPass()
    {
        RETRO_MADE(model, load(2));
        const engine::ExplainRequest asked = question(2);
        engine::GradientRequest request;
        request.inputs = asked.inputs;
        request.target = asked.target;
        RETRO_MADE(tape, engine::gradient(*model, request));
        QVERIFY(sumOf(ops::algebra::absolute(tape->gradients[0])) > 0);
        engine::ExplainRequest byRule = asked;
        byRule.composite = "gradient";
        byRule.start = engine::parseStart("one").value();
        RETRO_MADE(traversal, engine::explain(*model, byRule));
        const Tensor& there = traversal->relevance[traversal->model->graph().inputs()[0].index()];
        QVERIFY(ops::algebra::sumAbsolute(ops::algebra::subtract(there, tape->gradients[0])) <
                1e-5 * ops::algebra::sumAbsolute(there));
    }

    /// The properties of tape and engines hold; what compares with slopes says that it does not apply.
    void verifyKnowsSurrogates()
    {
        RETRO_MADE(model, load(3));
        const engine::ExplainRequest asked = question(3);
        engine::VerifyRequest request;
        request.inputs = asked.inputs;
        request.target = asked.target;
        RETRO_MADE(result, engine::verify(*model, request));
        for (const auto& property : result->properties) {
            QVERIFY2(property.state != engine::PropertyState::Violated, property.detail.c_str());
        }
    }

    void graphJsonCarriesTheSame()
    {
        const graph::Graph graph = ModelMaker(4).make();
        QTemporaryDir folder;
        const std::filesystem::path path = (folder.path() + "/lut.json").toStdString();
        QVERIFY(base::writeFile(path, formats::toGraphJson(graph)).ok());
        RETRO_MADE(again, engine::loadModel(path));
        RETRO_MADE(fromOnnx, load(4));
        const auto a = engine::explain(*fromOnnx, question(4));
        const auto b = engine::explain(**again, question(4));
        QVERIFY(a.ok() && b.ok());
        QVERIFY(a->outputs[0].bitEqual(b->outputs[0]));
    }

    /// Every engine takes the path of the model, and either path gives the same within rounding.
    void pathsGiveTheSame()
    {
        RETRO_MADE(fused, load(6));
        const auto documented = engine::withLutPath(fused, lut::Path::Documented).value();
        QVERIFY(documented != fused && engine::hasDocumentedLut(*documented->graph()));
        QVERIFY(engine::withLutPath(documented, lut::Path::Documented).value() == documented);
        const auto back = engine::withLutPath(documented, lut::Path::Fused).value();
        QVERIFY(!engine::hasDocumentedLut(*back->graph()));
        for (const char* composite : {"epsilon", "gradient"}) {
            engine::ExplainRequest request = question(6);
            request.composite = composite;
            const auto usual = engine::explain(*fused, request);
            const auto stages = engine::explain(*documented, request);
            request.engine = engine::EngineKind::Oracle;
            const auto oracle = engine::explain(*documented, request);
            RETRO_OK(stages);
            QVERIFY(usual.ok() && oracle.ok());
            const Tensor& a = usual->relevance[usual->model->graph().inputs()[0].index()];
            const Tensor& b = stages->relevance[stages->model->graph().inputs()[0].index()];
            QVERIFY(sumOf(ops::algebra::absolute(a)) > 0);
            QVERIFY(ops::algebra::sumAbsolute(ops::algebra::subtract(a, b)) < 1e-5 * ops::algebra::sumAbsolute(a));
            QVERIFY(b.bitEqual(oracle->relevance[oracle->model->graph().inputs()[0].index()]));
        }
    }

    /// Rows of 16 bits stay so in either file format, and are the numbers that they hold.
    void rowsOf16BitsStaySo_data()
    {
        QTest::addColumn<int>("tables");
        QTest::newRow("small") << 3;
        QTest::newRow("large") << 128; // kept narrow in the bound model
    }

    void rowsOf16BitsStaySo()
    {
        QFETCH(int, tables);
        const auto plain =
            engine::parseModel(formats::toOnnx(ModelMaker(8, DType::Float32, tables).make()).value(), "lut.onnx", {});
        QVERIFY(plain.ok());
        RETRO_MADE(expected, engine::explain(**plain, question(8)));
        for (const DType type : {DType::Float16, DType::BFloat16}) {
            const graph::Graph graph = ModelMaker(8, type, tables).make();
            QTemporaryDir folder;
            const std::filesystem::path path = (folder.path() + "/lut.json").toStdString();
            QVERIFY(base::writeFile(path, formats::toGraphJson(graph)).ok());
            for (const auto& read :
                 {engine::loadModel(path), engine::parseModel(formats::toOnnx(graph).value(), "lut.onnx", {})}) {
                RETRO_OK(read);
                const graph::Graph& held = *(*read)->graph();
                QCOMPARE(held.value(*held.findValue("attend_rows")).constant.dtype(), type);
                RETRO_MADE(result, engine::explain(**read, question(8)));
                QVERIFY(result->outputs[0].bitEqual(expected->outputs[0]));
                const std::size_t x = result->model->graph().inputs()[0].index();
                QVERIFY(
                    result->relevance[x].bitEqual(expected->relevance[expected->model->graph().inputs()[0].index()]));
            }
        }
    }

    void sharesAreSelectable()
    {
        RETRO_MADE(model, load(5));
        engine::ExplainRequest request = question(5);
        const auto usual = engine::explain(*model, request);
        request.composite = "epsilon | op:LUT=lut:share=weakest-bit";
        const auto other = engine::explain(*model, request);
        QVERIFY(usual.ok() && other.ok());
        const std::size_t x = usual->model->graph().inputs()[0].index();
        QVERIFY(!usual->relevance[x].bitEqual(other->relevance[x]));
    }
};

QTEST_GUILESS_MAIN(LutModelTest)
#include "lutmodeltest.moc"
