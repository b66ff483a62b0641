// SPDX-License-Identifier: Apache-2.0
// Relevance as one graph of a model whose number of samples is free: what is written with fixed extents is written with
// a free batch as well, and is the engine's at any number of samples.
#include "core/engine/model/symbolicshapes.h"
#include "tests/core/engine/relevancenetworks.h"

#include <QTest>

using namespace retro;
using namespace retro::engine::testing;

namespace
{

/// The same network; the first extent (or that of another axis) of inputs that have one per sample is free.
SharedGraph withFreeSamples(const graph::Graph& graph, std::int64_t samples, std::size_t axis = 0)
{
    graph::GraphBuilder builder("free", 17);
    std::vector<ValueId> copy(graph.valueCount());
    for (const ValueId input : graph.inputs()) {
        const graph::Value& value = graph.value(input);
        std::vector<graph::Dimension> shape = *value.shape;
        if (shape.front().extent == samples && shape.size() == graph.value(graph.inputs().front()).shape->size()) {
            shape[axis] = {std::nullopt, "N"};
        }
        copy[input.index()] = builder.addInput(value.name, value.dtype, shape);
    }
    for (std::size_t i = 0; i < graph.valueCount(); ++i) {
        const graph::Value& value = graph.value(ValueId(i));
        if (value.kind != graph::ValueKind::Input) {
            copy[i] = value.kind == graph::ValueKind::Constant ? builder.addConstant(value.name, value.constant)
                                                               : builder.addResult(value.name);
        }
    }
    for (graph::Node node : graph.nodes()) {
        for (std::vector<ValueId>* list : {&node.inputs, &node.outputs}) {
            std::ranges::transform(*list, list->begin(),
                                   [&](ValueId value) { return value.isValid() ? copy[value.index()] : value; });
        }
        builder.addNode(std::move(node));
    }
    builder.addOutput(copy[graph.outputs().front().index()]);
    auto built = std::move(builder).build();
    return built.ok() ? std::make_shared<const graph::Graph>(std::move(built).value()) : nullptr;
}

/// Operators that are known by their reverse rule, and moves that no rule of a graph writes by itself.
std::vector<Small> functions()
{
    std::vector<Small> all;
    ValueId x;
    const auto ints = [](Writer& writer, const std::string& name, const Ints& values) {
        return writer.constant(name, Tensor::of<std::int64_t>({static_cast<std::int64_t>(values.size())}, values));
    };
    const tensor::Shape image{2, 4, 6, 6};
    const auto add = [&](const std::string& name, const tensor::Shape& shape, const auto& node) {
        Writer writer = start(x, shape);
        const ValueId y = node(writer);
        all.push_back(finished(name, std::move(writer), y, {shape}));
    };
    add("instance normalization", image, [&](Writer& writer) {
        return writer.node("InstanceNormalization", "layer",
                           {x, writer.constant("s", randomTensor({4}, 1)), writer.constant("b", randomTensor({4}, 2))});
    });
    add("depth to space", image, [&](Writer& writer) {
        return writer.node("DepthToSpace", "layer", {x}, {{"blocksize", std::int64_t{2}}});
    });
    add("tile", {2, 3, 2}, [&](Writer& writer) {
        return writer.node("Tile", "layer", {x, ints(writer, "r", {1, 2, 3})});
    });
    add("resize", image, [&](Writer& writer) {
        return writer.node("Resize", "layer",
                           {x, {}, writer.constant("r", Tensor::of<float>({4}, std::vector<float>{1, 1, 2, 1.5F}))},
                           {{"mode", std::string("linear")}});
    });
    add("root of squares", {2, 3, 4}, [&](Writer& writer) {
        return writer.node("ReduceL2", "layer", {x}, {{"axes", Ints{2}}});
    });
    add("local response", image, [&](Writer& writer) {
        return writer.node("LRN", "layer", {x}, {{"size", std::int64_t{3}}});
    });
    add("running sum", {2, 5}, [&](Writer& writer) {
        return writer.node("CumSum", "layer", {x, writer.constant("a", Tensor::full(tensor::DType::Int64, {}, 1))});
    });
    add("product of names", {2, 3, 4}, [&](Writer& writer) {
        return writer.node("Einsum", "layer", {x, writer.constant("w", randomTensor({4, 5}, 3))},
                           {{"equation", std::string("bij,jk->bik")}});
    });
    add("rows of a table of places", {2, 5, 3}, [&](Writer& writer) {
        return writer.node("Gather", "layer", {x, ints(writer, "i", {3, 0, 3})}, {{"axis", std::int64_t{1}}});
    });
    add("every other one", {2, 6, 3}, [&](Writer& writer) {
        return writer.node(
            "Slice", "layer",
            {x, ints(writer, "s", {4}), ints(writer, "e", {0}), ints(writer, "a", {1}), ints(writer, "d", {-2})});
    });
    add("mirrored edge", {2, 3, 5}, [&](Writer& writer) {
        return writer.node("Pad", "layer", {x, ints(writer, "p", {0, 0, 2, 0, 1, 1})},
                           {{"mode", std::string("reflect")}});
    });
    add("recurrent layer", {2, 4, 3}, [&](Writer& writer) {
        const ValueId turned = writer.node("Transpose", "turn", {x}, {{"perm", Ints{1, 0, 2}}});
        const ValueId steps = writer.node("LSTM", "layer",
                                          {turned, writer.constant("w", randomTensor({1, 12, 3}, 4)),
                                           writer.constant("r", randomTensor({1, 12, 3}, 5))},
                                          {{"hidden_size", std::int64_t{3}}});
        const ValueId squeezed = writer.node("Squeeze", "squeezed", {steps, ints(writer, "one", {1})});
        return writer.node("Transpose", "back", {squeezed}, {{"perm", Ints{1, 0, 2}}});
    });
    add("largest two", {2, 6}, [&](Writer& writer) {
        return writer.node("TopK", "layer", {x, ints(writer, "k", {2})});
    });
    return all;
}

std::vector<Small> networks()
{
    std::vector<Small> all = functions();
    for (auto list : {others(), linearMaps()}) {
        std::ranges::move(list, std::back_inserter(all));
    }
    return all;
}

engine::ExplainRequest requestOf(const std::string& rule)
{
    engine::ExplainRequest request;
    request.composite = fmt::format("epsilon | name:layer={}", rule);
    request.precision = execute::Precision::Double;
    request.target.kind = engine::TargetRequest::Kind::Argmax;
    return request;
}

} // namespace

class RelevanceGraphSamplesTest : public QObject
{
    Q_OBJECT

private slots:
    void anyNumberOfSamples_data()
    {
        QTest::addColumn<int>("network");
        int number = 0;
        for (const Small& small : networks()) {
            QTest::newRow(small.name.c_str()) << number++;
        }
    }

    void anyNumberOfSamples()
    {
        QFETCH(int, network);
        const Small small = networks()[static_cast<std::size_t>(network)];
        QVERIFY(small.graph);
        const std::int64_t samples = small.inputs.front().front();
        const SharedGraph free = withFreeSamples(*small.graph, samples);
        QVERIFY(free);
        std::vector<std::string> rules = otherRules();
        rules.insert(rules.end(), linearRules().begin(), linearRules().end());
        rules.emplace_back("decomposed"); // of layers in steps
        std::size_t written = 0;
        for (const std::string& rule : rules) {
            engine::ExplainRequest request = requestOf(rule);
            if (!engine::relevanceGraph(modelOf(small.graph), request, {}).ok()) {
                continue; // has no form with fixed extents either
            }
            const engine::LoadedModelPointer model = modelOf(free);
            const auto made = engine::relevanceGraph(model, request, {});
            QVERIFY2(made.ok(), made.ok() ? "" : fmt::format("{}: {}", rule, made.error().text()).c_str());
            ++written;
            for (const std::int64_t count : {1, 4}) {
                request.inputs.clear();
                for (tensor::Shape shape : small.inputs) {
                    const bool hasSamples = shape.front() == samples && shape.size() == small.inputs.front().size();
                    shape.front() = hasSamples ? count : shape.front();
                    const auto seed = static_cast<unsigned>(21 + request.inputs.size());
                    request.inputs.push_back(randomTensor(shape, seed).to(tensor::DType::Float64));
                }
                const auto explained = engine::explain(*model, request);
                QVERIFY2(explained.ok(),
                         explained.ok() ? "" : fmt::format("{}: {}", rule, explained.error().text()).c_str());
                std::vector<Tensor> given = request.inputs;
                given.push_back(Tensor::full(tensor::DType::Int64, {count}, -1));
                const auto found = engine::runForward(*modelOf(made->graph), given, execute::Precision::Double);
                QVERIFY2(found.ok(), found.ok() ? "" : fmt::format("{}: {}", rule, found.error().text()).c_str());
                const auto at = std::ranges::find(found->names, "relevance/x") - found->names.begin();
                const auto value = explained->model->graph().findValue("x");
                const Tensor expected = explained->relevance[value->index()].isValid()
                                            ? explained->relevance[value->index()]
                                            : Tensor::zeros(tensor::DType::Float64, request.inputs[0].shape());
                const double difference = apart(found->outputs[static_cast<std::size_t>(at)], expected);
                QVERIFY2(difference <= 1e-9, fmt::format("{}, {} samples: {}", rule, count, difference).c_str());
            }
        }
        QVERIFY2(written > 0, "no rule has a form here");
    }

    /// By its name it would miss the steps, and the graph would have other relevance than explain. A gradient is that
    /// of each step (anyNumberOfSamples).
    void aRuleOfAWholeLayerInStepsIsRefused()
    {
        const auto all = networks();
        const auto lstm = std::ranges::find(all, "recurrent layer", &Small::name);
        QVERIFY(lstm != all.end());
        for (const std::string rule : {"stop", "pass"}) {
            const auto made = engine::relevanceGraph(modelOf(lstm->graph), requestOf(rule), {});
            QVERIFY2(!made.ok(), rule.c_str());
            QVERIFY2(made.error().text().find("layer") != std::string::npos, made.error().text().c_str());
        }
    }

    /// A model with places for 16 words cannot be tried at 64 of them.
    void aTableOfPlacesLeavesTheLengthFree()
    {
        ValueId x;
        Writer writer = start(x, {2, 5, 3});
        const auto number = [&](const std::string& name, std::int64_t value) {
            return writer.constant(name, Tensor::of<std::int64_t>({1}, Ints{value}));
        };
        const ValueId shape = writer.node("Shape", "shape", {x});
        const ValueId length = writer.node("Gather", "length", {shape, number("one", 1)});
        const ValueId table = writer.constant("table", randomTensor({1, 16, 3}, 7));
        const ValueId places = writer.node("Slice", "places", {table, number("begin", 0), length, number("axis", 1)});
        const ValueId sum = writer.node("Add", "sum", {x, places});
        const ValueId bent = writer.node("Relu", "bent", {sum});
        const ValueId mean = writer.node("ReduceMean", "mean", {bent}, {{"axes", Ints{1}}});
        const Small small = finished("places", std::move(writer), mean, {{2, 5, 3}});
        QVERIFY(small.graph);
        const engine::LoadedModelPointer model = modelOf(withFreeSamples(*small.graph, 2, 1));
        engine::ExplainRequest request = requestOf("pass");
        RETRO_MADE(made, engine::relevanceGraph(model, request, {}));
        QCOMPARE(made->freeExtent, engine::kShortSizes.base);
        for (const std::int64_t words : {3, 16}) {
            request.inputs = {randomTensor({2, words, 3}, 8).to(tensor::DType::Float64)};
            RETRO_MADE(explained, engine::explain(*model, request));
            RETRO_MADE(found, engine::runForward(*modelOf(made->graph),
                                                 {request.inputs[0], Tensor::full(tensor::DType::Int64, {2}, -1)},
                                                 execute::Precision::Double));
            const auto at = std::ranges::find(found->names, "relevance/x") - found->names.begin();
            const auto value = explained->model->graph().findValue("x");
            QVERIFY(apart(found->outputs[static_cast<std::size_t>(at)], explained->relevance[value->index()]) <= 1e-9);
        }
    }

    /// A length beyond those that a graph was tried at may matter: here from 100 on.
    void aFreeLengthIsRefusedByName()
    {
        ValueId x;
        Writer writer = start(x, {2, 4, 6});
        const auto number = [&](const std::string& name, std::int64_t value) {
            return writer.constant(name, Tensor::of<std::int64_t>({1}, Ints{value}));
        };
        const ValueId cut = writer.node("Slice", "cut", {x, number("begin", 0), number("end", 100), number("axis", 2)});
        const ValueId y = writer.node(
            "Resize", "layer", {cut, {}, writer.constant("r", Tensor::of<float>({3}, std::vector<float>{1, 1, 2}))},
            {{"mode", std::string("linear")}});
        const ValueId mean = writer.node("ReduceMean", "mean", {y}, {{"axes", Ints{2}}});
        const Small small = finished("cut", std::move(writer), mean, {{2, 4, 6}});
        QVERIFY(small.graph);
        QVERIFY(engine::relevanceGraph(modelOf(small.graph), requestOf("norm"), {}).ok());
        const SharedGraph free = withFreeSamples(*small.graph, 2, 2);
        QVERIFY(free);
        const auto made = engine::relevanceGraph(modelOf(free), requestOf("norm"), {});
        QVERIFY(!made.ok());
        QVERIFY2(made.error().where.find("node '") != std::string::npos, made.error().text().c_str());
    }
};

QTEST_APPLESS_MAIN(RelevanceGraphSamplesTest)
#include "relevancegraphsamplestest.moc"
