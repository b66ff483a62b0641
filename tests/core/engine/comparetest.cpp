// SPDX-License-Identifier: Apache-2.0
// Where two runs part, and relevance of another tool as a run.
#include "core/engine/compare/compare.h"
#include "core/base/file.h"
#include "core/engine/explain/explain.h"
#include "core/engine/explain/runrules.h"
#include "core/formats/onnx.h"
#include "core/graph/graphbuilder.h"
#include "core/ops/algebra.h"
#include "core/trace/runfile.h"

#include <QtTest>

#include <algorithm>

#include <QTemporaryDir>

#include <cmath>

using namespace retro;

using tensor::Tensor;

namespace
{

Tensor drawn(const tensor::Shape& shape, unsigned seed)
{
    std::vector<double> values;
    for (std::int64_t i = 0; i < tensor::elementCount(shape); ++i) {
        values.push_back(std::sin(static_cast<double>(seed) + 1.7 * static_cast<double>(i)));
    }
    return Tensor::of<double>(shape, values).to(tensor::DType::Float32);
}

/// conv → relu → flatten → dense, value names with a prefix.
engine::LoadedModelPointer small(const std::string& prefix = {}, unsigned seed = 3)
{
    graph::GraphBuilder builder("small", 18);
    const auto node = [&](const char* op, const std::string& name, std::vector<base::ValueId> inputs) {
        return builder.addOp(op, name, std::move(inputs), prefix + name + "_out");
    };
    const base::ValueId x = builder.addInput(prefix + "x", tensor::DType::Float32, tensor::Shape{1, 2, 4, 4});
    const base::ValueId w = builder.addConstant("W", drawn({3, 2, 3, 3}, seed));
    const base::ValueId v = builder.addConstant("V", drawn({12, 3}, seed + 1));
    const base::ValueId act = node("Relu", "act", {node("Conv", "conv", {x, w})});
    builder.addOutput(node("MatMul", "fc", {node("Flatten", "flat", {act}), v}));
    auto model = engine::parseModel(formats::toOnnx(std::move(builder).build().value()).value(), "small.onnx", {});
    return model.ok() ? *model : nullptr;
}

engine::ComparedSide runOf(const engine::LoadedModel& model, const std::string& composite, std::int64_t target = 0)
{
    engine::ExplainRequest request;
    const bool isPicture = model.graph()->findValue("W").has_value();
    request.inputs = {drawn(isPicture ? tensor::Shape{1, 2, 4, 4} : tensor::Shape{1, 40}, 7)};
    request.composite = composite;
    request.target.kind = engine::TargetRequest::Kind::Class;
    request.target.classIndex = target;
    request.record = true;
    return {composite, tests::made(engine::explain(model, request)).run, {}};
}

/// y = act(x·P + x·Q)·V, whose matrices are too large for a run file.
engine::LoadedModelPointer twoBranches()
{
    constexpr std::int64_t kWidth = 40;
    graph::GraphBuilder builder("branches", 18);
    const auto node = [&](const char* op, const std::string& name, std::vector<base::ValueId> inputs) {
        return builder.addOp(op, name, std::move(inputs), name + "_out");
    };
    const auto weight = [&](const char* name, unsigned seed) {
        return builder.addConstant(name, drawn({kWidth, kWidth}, seed));
    };
    const base::ValueId x = builder.addInput("x", tensor::DType::Float32, tensor::Shape{1, kWidth});
    const base::ValueId p = node("MatMul", "p", {x, weight("P", 5)});
    const base::ValueId q = node("MatMul", "q", {x, weight("Q", 8)});
    const base::ValueId act = node("Relu", "act", {node("Add", "join", {p, q})});
    builder.addOutput(node("MatMul", "fc", {act, weight("V", 2)}));
    auto model = engine::parseModel(formats::toOnnx(std::move(builder).build().value()).value(), "branches.onnx", {});
    return model.ok() ? *model : nullptr;
}

std::vector<std::string> namesOf(const engine::Parting& parting)
{
    std::vector<std::string> names;
    for (const engine::PartingNode& node : parting.nodes) {
        names.push_back(node.name);
    }
    return names;
}

/// Relevance of a run by value name, as another tool would leave it.
engine::ComparedSide tensorsOf(const engine::ComparedSide& run)
{
    engine::ComparedSide side{"other.npz", nullptr, {}};
    const graph::Graph& graph = *run.run->graph;
    for (const event::Event& event : run.run->events) {
        if (event.kind == event::EventKind::Relevance) {
            const base::ValueId value = graph.outputsOf(base::NodeId(event.node))[event.slot];
            side.tensors[graph.value(value).name] = run.run->tensors[event.handle];
        }
    }
    return side;
}

} // namespace

class CompareTest : public QObject
{
    Q_OBJECT

private slots:
    void init()
    {
        m_model = small();
        QVERIFY(m_model != nullptr);
    }

    void aRunAgreesWithItself()
    {
        const engine::ComparedSide run = runOf(*m_model, "epsilon");
        RETRO_MADE(result, engine::compare(run, run, 0));
        QVERIFY(!result->parting);
        QVERIFY(result->sameStructure);
        QVERIFY(result->values.size() >= 4);
        QVERIFY(result->values.front().scale > 0); // or nothing could part
        QVERIFY(result->differentFacts.empty() && result->onlyA.empty() && result->onlyB.empty());
    }

    void anotherRulePartsAtItsNode()
    {
        const auto result = engine::compare(runOf(*m_model, "epsilon"), runOf(*m_model, "epsilon_plus"));
        QVERIFY(result->parting);
        QCOMPARE(result->parting->value.name, std::string("x"));
        QVERIFY(!result->parting->isStart);
        QCOMPARE(result->parting->nodes.size(), std::size_t{1});
        const engine::PartingNode& node = result->parting->nodes.front();
        QCOMPARE(node.name, std::string("conv"));
        QCOMPARE(node.ruleA, std::string("epsilon 1e-06"));
        QCOMPARE(node.ruleB, std::string("z-plus, epsilon 1e-06"));
        QVERIFY(node.formulaA.find("xW + b") != std::string::npos);
        QVERIFY(node.formulaB.find("x⁺W⁺") != std::string::npos);
        QCOMPARE(result->differentFacts, std::vector<std::string>{"composite: epsilon ↔ epsilon_plus"});
        const engine::ValueDifference& value = result->parting->value;
        QVERIFY(std::abs(std::abs(value.a - value.b) - value.largest) < 1e-12);
        QVERIFY(value.cosine < 1);
    }

    void anotherTargetPartsAtTheStart()
    {
        const auto result = engine::compare(runOf(*m_model, "epsilon", 0), runOf(*m_model, "epsilon", 1));
        QVERIFY(result->parting && result->parting->isStart);
        QCOMPARE(result->parting->value.name, std::string("fc_out"));
        QCOMPARE(result->differentFacts.size(), std::size_t{2});
        QCOMPARE(result->differentFacts.front(), std::string("target: fc_out 0 ↔ fc_out 1"));
        QVERIFY(result->differentFacts.back().starts_with("these are two questions"));
    }

    // Two files of one structure: names do not matter, weights do.
    void modelsOfOneStructure()
    {
        RETRO_MADE(renamed, engine::compare(runOf(*m_model, "epsilon"), runOf(*small("b_"), "epsilon")));
        QVERIFY(renamed->sameStructure && !renamed->parting);
        const auto trained = engine::compare(runOf(*m_model, "epsilon"), runOf(*small("b_", 4), "epsilon"));
        QVERIFY(trained->sameStructure && trained->parting && trained->parting->isStart);
    }

    void arraysOfAnotherToolFindTheNode()
    {
        const engine::ComparedSide ours = runOf(*m_model, "epsilon");
        const auto same = engine::compare(tensorsOf(ours), ours, 0);
        QVERIFY(!same->parting && !same->sameStructure);
        engine::ComparedSide theirs = tensorsOf(runOf(*m_model, "epsilon_plus"));
        theirs.tensors.erase("flat_out");
        const auto other = engine::compare(ours, theirs);
        QVERIFY(other->parting);
        QCOMPARE(other->parting->nodes.front().name, std::string("conv"));
        QVERIFY(other->parting->nodes.front().ruleB.empty());
        QCOMPARE(other->onlyA, std::vector<std::string>{"flat_out"});
    }

    // Only one of two branches has another rule, and the other tool does not give what it hands on: neither branch is
    // named alone.
    void aValueThatIsMissingNamesNobodyAlone()
    {
        RETRO_MADE(model, twoBranches());
        const engine::ComparedSide ours = runOf(*model, "epsilon");
        const engine::ComparedSide changed = runOf(*model, "epsilon | name:q=z-plus");
        const auto runs = engine::compare(ours, changed);
        QVERIFY(runs->parting && runs->parting->isNarrowed);
        QCOMPARE(runs->parting->nodes.front().name, std::string("q"));
        engine::ComparedSide theirs = tensorsOf(changed);
        theirs.tensors.erase("q_out");
        const auto sparse = engine::compare(ours, theirs);
        QVERIFY(sparse->parting && !sparse->parting->isStart && !sparse->parting->isNarrowed);
        QCOMPARE(sparse->parting->value.name, std::string("x"));
        QCOMPARE(namesOf(*sparse->parting), (std::vector<std::string>{"join", "q", "p"}));
        QCOMPARE(sparse->parting->agreeing, (std::vector<std::string>{"join_out", "p_out"}));
        QVERIFY(sparse->parting->unknownStart.empty());
    }

    // The export of most tools: the input's relevance, with or without the output's.
    void onlyTheInputIsGiven()
    {
        const auto model = twoBranches();
        const engine::ComparedSide ours = runOf(*model, "epsilon");
        engine::ComparedSide theirs = tensorsOf(runOf(*model, "epsilon | name:q=z-plus"));
        const tensor::NamedTensors all = theirs.tensors;
        theirs.tensors = {{"x", all.at("x")}, {"fc_out", all.at("fc_out")}};
        auto result = engine::compare(ours, theirs);
        QVERIFY(result->parting && !result->parting->isStart && !result->parting->isNarrowed);
        QCOMPARE(namesOf(*result->parting), (std::vector<std::string>{"fc", "act", "join", "q", "p"}));
        QCOMPARE(result->parting->agreeing, std::vector<std::string>{"fc_out"});
        QVERIFY(result->parting->unknownStart.empty());
        QVERIFY(!result->parting->nodes.front().formulaA.empty());
        theirs.tensors.erase("fc_out");
        result = engine::compare(ours, theirs);
        QVERIFY(result->parting && !result->parting->isStart && !result->parting->isNarrowed);
        QCOMPARE(result->parting->nodes.size(), std::size_t{5});
        QCOMPARE(result->parting->unknownStart, std::string("fc_out"));
        QVERIFY(result->parting->agreeing.empty());
    }

    // The rules that the other tool was set to come from a composite, on the graph of a run without weights.
    void rulesOfAnotherTool()
    {
        QTemporaryDir folder;
        const std::filesystem::path path = (folder.path() + "/a.retro").toStdString();
        const auto model = twoBranches();
        QVERIFY(trace::writeRun(path, *runOf(*model, "epsilon").run).ok());
        RETRO_MADE(ours, engine::readCompared(path));
        RETRO_MADE(rules, engine::rulesFor(*ours->run, "epsilon | name:q=z-plus"));
        engine::ComparedSide theirs = tensorsOf(runOf(*model, "epsilon | name:q=z-plus"));
        theirs.rules = *rules;
        const auto result = engine::compare(*ours, theirs);
        QVERIFY(result->parting && result->parting->isNarrowed);
        const engine::PartingNode& node = result->parting->nodes.front();
        QCOMPARE(node.name, std::string("q"));
        QCOMPARE(node.ruleB, std::string("z-plus, epsilon 1e-06"));
        QVERIFY(node.formulaA.find("D = xW") != std::string::npos);
        QVERIFY(node.formulaB.find("x⁺W⁺") != std::string::npos);
        QCOMPARE(engine::rulesFor(*ours->run, "no such").error().code, base::ErrorCode::Usage);
    }

    // What stands for nothing in the model, and what is no relevance, is told.
    void strangeArraysAreListed()
    {
        const engine::ComparedSide ours = runOf(*m_model, "epsilon");
        engine::ComparedSide theirs = tensorsOf(ours);
        theirs.tensors.emplace("layer4.relu", drawn({1}, 1));
        theirs.skipped = {"notes.npy: a text"};
        const auto result = engine::compare(ours, theirs);
        QVERIFY(!result->parting);
        QCOMPARE(result->unmatchedB, std::vector<std::string>{"layer4.relu"});
        QCOMPARE(result->skippedB, theirs.skipped);
        QVERIFY(result->unmatchedA.empty() && result->skippedA.empty());
    }

    // A tool that drops the batch of one.
    void aMissingBatchAxisIsAdded()
    {
        const engine::ComparedSide ours = runOf(*m_model, "epsilon");
        engine::ComparedSide theirs = tensorsOf(ours);
        theirs.tensors["x"] = theirs.tensors["x"].reshaped({2, 4, 4});
        const auto result = engine::compare(theirs, ours, 0);
        QVERIFY(!result->parting);
        QCOMPARE(result->values.back().name, std::string("x"));
        QCOMPARE(result->values.back().note, std::string("A gives 2 × 4 × 4: compared as 1 × 2 × 4 × 4"));
        QVERIFY(result->values.front().note.empty());
    }

    // A value that the other tool gives in another shape, and one that is not a number there.
    void shapesAndNumbersThatDiffer()
    {
        const engine::ComparedSide ours = runOf(*m_model, "epsilon");
        engine::ComparedSide theirs = tensorsOf(ours);
        theirs.tensors["x"] = theirs.tensors["x"].reshaped({8, 4});
        auto result = engine::compare(ours, theirs);
        QCOMPARE(result->parting->value.fault.substr(0, 13), std::string("shapes differ"));
        theirs = tensorsOf(ours);
        theirs.tensors["x"] = ops::algebra::scale(theirs.tensors["x"], std::nan(""));
        result = engine::compare(ours, theirs);
        QVERIFY(result->parting && std::isinf(result->parting->value.largest));
    }

    void refusals()
    {
        const engine::ComparedSide ours = runOf(*m_model, "epsilon");
        const auto noRun = engine::compare(tensorsOf(ours), tensorsOf(ours));
        QVERIFY(!noRun.ok() && noRun.error().code == base::ErrorCode::Usage);
        engine::ComparedSide strange{"s.npz", nullptr, {{"nothing", drawn({1}, 1)}}};
        const auto nothing = engine::compare(ours, strange);
        QVERIFY(!nothing.ok() && nothing.error().text().find("in common") != std::string::npos);
        QVERIFY(nothing.error().text().find("no value has the name nothing") != std::string::npos);
        QVERIFY(engine::readCompared("a.txt").error().code == base::ErrorCode::Usage);
    }

    void files()
    {
        QTemporaryDir folder;
        const std::filesystem::path path = (folder.path() + "/a.retro").toStdString();
        const engine::ComparedSide ours = runOf(*m_model, "gradient_x_input");
        QVERIFY(trace::writeRun(path, *ours.run).ok());
        RETRO_MADE(read, engine::readCompared(path));
        QVERIFY(!engine::compare(ours, *read, 0)->parting);
        RETRO_MADE(arrays, engine::readCompared(RETRO_SOURCE_DIR "/tests/data/npz/stored.npz"));
        QCOMPARE(arrays->tensors.size(), std::size_t{2});
        QVERIFY(arrays->skipped.empty());
        RETRO_MADE(mixed, engine::readCompared(RETRO_SOURCE_DIR "/tests/data/npz/zennit.npz"));
        QCOMPARE(mixed->tensors.size(), std::size_t{2});
        QCOMPARE(mixed->skipped.size(), std::size_t{3});
        QVERIFY(std::ranges::any_of(mixed->skipped, [](const std::string& reason) {
            return reason.find("labels.npy: it is int64") != std::string::npos;
        }));
        RETRO_MADE(chosen, engine::readCompared(RETRO_SOURCE_DIR "/tests/data/npz/stored.npz", ours.run.get()));
        QVERIFY(chosen->tensors.empty()); // no value of the run has their names: they are not unpacked
        QCOMPARE(chosen->unmatched.size(), std::size_t{2});
    }

private:
    engine::LoadedModelPointer m_model;
};

QTEST_GUILESS_MAIN(CompareTest)
#include "comparetest.moc"
