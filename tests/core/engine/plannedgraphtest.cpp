// SPDX-License-Identifier: Apache-2.0
// Gradient graphs by plans and by forms of forward values: the numbers of the graph without, and in memory what the
// simulator says.
#include <QtTest>

#include "core/engine/gradient/plannedgraph.h"
#include "core/engine/gradient/writegradientgraph.h"
#include "core/engine/input/inputs.h"
#include "core/execute/forward.h"
#include "core/formats/modelfile.h"
#include "core/schedule/simulator.h"
#include "tests/core/engine/samplequestion.h"

#include <QTemporaryDir>

#include <array>
#include <map>

using namespace retro;
using base::ValueId;
using tensor::Tensor;

namespace
{

constexpr std::array<const char*, 2> kSamples{"clever-hans/clever-hans", "marked-step/marked-step"};

using Question = tests::SampleQuestion<engine::GradientRequest>;
using Named = std::map<std::string, Tensor>;

/// Runs a graph; its outputs by name. `known` has its inputs and more.
Named run(const std::shared_ptr<const graph::Graph>& graph, const Named& known)
{
    std::vector<ops::TensorType> types;
    std::vector<Tensor> inputs;
    for (const ValueId input : graph->inputs()) {
        const auto at = known.find(graph->value(input).name);
        if (at == known.end()) {
            return {};
        }
        inputs.push_back(at->second);
        types.push_back({at->second.dtype(), at->second.shape()});
    }
    const auto model = execute::BoundModel::bind(graph, types, execute::Precision::Float, inputs);
    if (!model.ok()) {
        qWarning("%s", model.error().text().c_str());
        return {};
    }
    const auto result = execute::forward(*model, inputs, execute::SavePolicy::Nothing);
    if (!result.ok()) {
        qWarning("%s", result.error().text().c_str());
        return {};
    }
    Named outputs;
    for (std::size_t i = 0; i < graph->outputs().size(); ++i) {
        outputs[graph->value(graph->outputs()[i]).name] = result->outputs[i];
    }
    return outputs;
}

Named inputsOf(const graph::Graph& graph, const std::vector<Tensor>& inputs)
{
    Named named;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        named[graph.value(graph.inputs()[i]).name] = inputs[i];
    }
    return named;
}

/// Which outputs differ in some bit, or are missing.
QStringList different(const Named& wanted, const Named& found)
{
    QStringList names;
    for (const auto& [name, tensor] : wanted) {
        const auto at = found.find(name);
        if (at == found.end() || !at->second.bitEqual(tensor)) {
            names << QString::fromStdString(name);
        }
    }
    return names;
}

/// Numbers at the target, for the seed.
Tensor seedFor(const graph::Graph& graph, const std::string& seed)
{
    const graph::Value& value = graph.value(*graph.findValue(seed));
    tensor::Shape shape;
    for (const graph::Dimension& one : *value.shape) {
        shape.push_back(one.extent.value_or(1));
    }
    return Tensor::full(value.dtype, shape, 0.75);
}

/// Bytes in memory while each step of a file runs: what steps made and later ones read, and what the step makes. Inputs
/// and constants are left out, and so is what a step makes for itself.
std::map<std::int64_t, std::uint64_t> liveBytes(const graph::Graph& graph)
{
    const auto stepOf = [](const graph::Node& node) -> std::int64_t {
        return std::stoll(node.metadata.at(engine::kStepKey));
    };
    std::vector<std::int64_t> born(graph.valueCount(), -2);
    std::vector<std::int64_t> dies(graph.valueCount(), -2);
    for (const graph::Node& node : graph.nodes()) {
        for (const ValueId output : node.outputs) {
            if (output.isValid()) {
                born[output.index()] = stepOf(node);
            }
        }
        for (const ValueId input : node.inputs) {
            if (input.isValid()) {
                dies[input.index()] = std::max(dies[input.index()], stepOf(node));
            }
        }
    }
    for (const ValueId output : graph.outputs()) {
        dies[output.index()] = std::max(dies[output.index()], born[output.index()]);
    }
    std::vector<ops::TensorType> types;
    std::vector<Tensor> zeros;
    for (const ValueId input : graph.inputs()) {
        tensor::Shape shape;
        for (const graph::Dimension& one : *graph.value(input).shape) {
            shape.push_back(*one.extent);
        }
        types.push_back({graph.value(input).dtype, shape});
    }
    const std::shared_ptr<const graph::Graph> borrowed(std::shared_ptr<const void>(), &graph);
    const auto model = execute::BoundModel::bind(borrowed, types, execute::Precision::Float);
    std::map<std::int64_t, std::int64_t> changes; // of what is in memory, at the start of a step
    for (std::size_t i = 0; model.ok() && i < graph.valueCount(); ++i) {
        const ops::TensorType& type = (*model)->typeOf(ValueId(i));
        const std::int64_t size =
            tensor::elementCount(type.shape) * static_cast<std::int64_t>(tensor::sizeOf(type.dtype));
        const bool isOutput = std::ranges::find(graph.outputs(), ValueId(i)) != graph.outputs().end();
        if (born[i] < 0 || dies[i] < born[i] || (dies[i] == born[i] && !isOutput)) {
            continue; // an input, a constant, what nobody reads, or what a step makes for itself
        }
        changes[born[i]] += size;
        changes[dies[i] + 1] -= size;
    }
    std::map<std::int64_t, std::uint64_t> bytes;
    std::int64_t now = 0;
    for (const auto& [step, change] : changes) {
        now += change;
        bytes[step] = static_cast<std::uint64_t>(now);
    }
    return bytes;
}

} // namespace

class PlannedGraphTest : public QObject
{
    Q_OBJECT

private slots:
    void everyWayHasTheSameNumbers_data()
    {
        QTest::addColumn<QString>("sample");
        QTest::addColumn<QString>("way");
        for (const char* sample : kSamples) {
            for (const char* way : {"chen_sqrt", "recompute_all", "rebuild", "compress", "store"}) {
                QTest::addRow("%s by %s", sample, way) << QString(sample) << QString(way);
            }
        }
    }

    void everyWayHasTheSameNumbers()
    {
        QFETCH(QString, sample);
        QFETCH(QString, way);
        const Question question = tests::questionOf<engine::GradientRequest>(qPrintable(sample));
        QVERIFY(question.model);
        engine::GradientGraphForm form{true};
        RETRO_MADE(plain, write("plain.json", question, form));
        setWay(form, way);
        RETRO_MADE(joint, write("joint.json", question, form));
        Named known = inputsOf(*question.model->rewritten.before, question.request.inputs);
        const std::string& seed = plain->gradient.seed;
        known[seed] = seedFor(*plain->gradient.graph, seed);
        const Named wanted = run(plain->gradient.graph, known);
        QVERIFY(!wanted.empty());
        const Named found = run(joint->gradient.graph, known);
        QVERIFY2(different(wanted, found).isEmpty(), qPrintable(different(wanted, found).join(", ")));
        form.isJoined = false;
        const auto apart = write("apart.json", question, form);
        QVERIFY(apart && !apart->forwardFile.empty());
        RETRO_MADE(forward, formats::readModelFile(apart->forwardFile));
        Named both = run(*forward, known);
        QVERIFY(!both.empty());
        known.insert(both.begin(), both.end());
        both.merge(run(apart->gradient.graph, known));
        QVERIFY2(different(wanted, both).isEmpty(), qPrintable(different(wanted, both).join(", ")));
    }

    /// Node by node, the nodes of a step together: the bytes that the simulator counts.
    void theFileLivesAsTheSimulatorSays()
    {
        const Question question = tests::questionOf<engine::GradientRequest>("clever-hans/clever-hans");
        for (const char* way : {"chen_sqrt", "recompute_all", "store_all"}) {
            engine::GradientGraphForm form{true};
            setWay(form, way);
            const auto made = write("live.json", question, form);
            QVERIFY(made && made->chosen);
            const auto bytes = liveBytes(*made->gradient.graph);
            QVERIFY(!bytes.empty());
            std::uint64_t most = 0;
            for (const auto& [step, sum] : bytes) {
                most = std::max(most, sum);
            }
            QVERIFY(made->chosen->search);
            QCOMPARE(most, made->chosen->search->peak);
        }
    }

    void repeatedResultsHaveNumbers()
    {
        const Question question = tests::questionOf<engine::GradientRequest>("clever-hans/clever-hans");
        engine::GradientGraphForm form{true};
        setWay(form, "recompute_all");
        RETRO_MADE(made, write("again.onnx", question, form));
        const auto isAgain = [](const graph::Value& value) { return value.name.ends_with("~2"); };
        QVERIFY(std::ranges::any_of(made->gradient.graph->values(), isAgain));
        RETRO_MADE(read, formats::readModelFile(m_folder.filePath("again.onnx").toStdString()));
        for (const graph::Node& node : (*read)->nodes()) {
            QVERIFY2(node.metadata.contains(engine::kStepKey), node.name.c_str());
        }
    }

private:
    static void setWay(engine::GradientGraphForm& form, const QString& way)
    {
        if (way.contains('_')) { // the name of a planner
            form.plan.emplace();
            form.plan->strategy = way.toStdString();
            form.plan->budget = "1000%";
            return;
        }
        form.forwarding.emplace();
        form.forwarding->strategy = way == "rebuild"    ? engine::ForwardStrategy::Rebuild
                                    : way == "compress" ? engine::ForwardStrategy::Compress
                                                        : engine::ForwardStrategy::Store;
    }

    std::optional<engine::WrittenGradientGraph> write(const char* name, const Question& question,
                                                      const engine::GradientGraphForm& form)
    {
        auto made =
            engine::writeGradientGraph(m_folder.filePath(name).toStdString(), question.model, question.request, form);
        if (!made.ok()) {
            qWarning("%s", made.error().text().c_str());
            return {};
        }
        return std::move(made).value();
    }

    QTemporaryDir m_folder;
};

QTEST_GUILESS_MAIN(PlannedGraphTest)
#include "plannedgraphtest.moc"
