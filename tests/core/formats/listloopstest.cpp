// SPDX-License-Identifier: Apache-2.0
// What PyTorch's older exporter writes in its own way: lists of tensors that insertions and loops fill (tensor_split),
// permutations from the end.
#include "core/execute/forward.h"
#include "core/formats/onnx.h"
#include "tests/core/formats/protomodel.h"

#include <QtTest>

using namespace retro;
using namespace retro::tests;
using Ints = std::vector<std::int64_t>;
using Texts = std::vector<std::string>;

namespace
{

using onnxschema::GraphProto;
using onnxschema::ValueInfoProto;

/// The parts of x, 1 × 6, between three bounds, put into a list by a loop; x itself comes behind them, or where `place`
/// says. y is element `wanted` of the list.
ProtoModel split(std::int64_t passes, std::int64_t wanted, const char* place = nullptr)
{
    ProtoModel model;
    model.input("x", {1, 6}).output("y");
    model.constant("passes", Tensor::of<std::int64_t>({1}, Ints{passes}));
    model.constant("goes on", Tensor::full(tensor::DType::Bool, {}, 1))
        .constant("one", Tensor::scalar(std::int64_t{1}));
    model.constant("bounds", Tensor::of<std::int64_t>({3, 1}, Ints{0, 2, 5}));
    model.constant("axis", Tensor::of<std::int64_t>({1}, Ints{1})).constant("front", Tensor::scalar(std::int64_t{0}));
    model.constant("wanted", Tensor::scalar(wanted)).node("SequenceEmpty", {}, {"none"});
    model.node("Loop", {"passes", "goes on", "none"}, {"some"});
    auto& loop = *model.proto().mutable_graph()->mutable_node(1);
    auto& attribute = *loop.add_attribute();
    attribute.set_name("body");
    attribute.set_type(onnxschema::AttributeProto::GRAPH);
    ProtoModel inside;
    inside.node("Gather", {"bounds", "number"}, {"from"}).node("Add", {"number", "one"}, {"next"});
    inside.node("Gather", {"bounds", "next"}, {"to"}).node("Slice", {"x", "from", "to", "axis"}, {"part"});
    inside.node("SequenceInsert", {"list", "part"}, {"grown"}).node("Identity", {"goes on"}, {"again"});
    GraphProto& body = *attribute.mutable_g();
    body = inside.proto().graph();
    body.set_name("body");
    for (const auto& [name, type] :
         {std::pair("number", onnxschema::TensorProto::INT64), std::pair("before", onnxschema::TensorProto::BOOL)}) {
        ValueInfoProto& input = *body.add_input();
        input.set_name(name);
        input.mutable_type()->mutable_tensor_type()->set_elem_type(type);
    }
    ValueInfoProto& list = *body.add_input();
    list.set_name("list");
    list.mutable_type()->mutable_sequence_type();
    body.add_output()->set_name("again");
    body.add_output()->set_name("grown");
    model.node("SequenceInsert", place == nullptr ? Texts{"some", "x"} : Texts{"some", "x", place}, {"all"});
    return model.node("SequenceAt", {"all", "wanted"}, {"y"});
}

/// y for x = 0, 1, … 5; the error where there is none.
std::string answer(const ProtoModel& model)
{
    const auto graph = formats::parseOnnx(model.bytes(), "model.onnx", {}, {});
    if (!graph.ok()) {
        return graph.error().text();
    }
    const std::vector<ops::TensorType> types{{tensor::DType::Float32, {1, 6}}};
    const auto bound = execute::BoundModel::bind(*graph, types, execute::Precision::Float);
    if (!bound.ok()) {
        return bound.error().text();
    }
    const Tensor x = Tensor::of<float>({1, 6}, std::vector<float>{0, 1, 2, 3, 4, 5});
    const auto result = execute::forward(*bound, std::span(&x, 1), execute::SavePolicy::Nothing);
    if (!result.ok()) {
        return result.error().text();
    }
    std::string text;
    for (std::int64_t i = 0; i < result->outputs[0].size(); ++i) {
        text += std::to_string(static_cast<int>(result->outputs[0].at(i)));
    }
    return text;
}

} // namespace

class ListLoopsTest : public QObject
{
    Q_OBJECT

private slots:
    void listsThatLoopsFill()
    {
        QCOMPARE(answer(split(2, 0)), std::string("01"));
        QCOMPARE(answer(split(2, 1)), std::string("234"));
        QCOMPARE(answer(split(2, 2)), std::string("012345"));
        QCOMPARE(answer(split(2, -1)), std::string("012345"));
        QCOMPARE(answer(split(2, 0, "front")), std::string("012345"));
        QCOMPARE(answer(split(1, 0)), std::string("01"));
        QCOMPARE(answer(split(0, 0)), std::string("012345")); // no pass at all
    }

    /// A permutation that counts from the end.
    void axesFromTheEnd()
    {
        ProtoModel model;
        model.input("x", {1, 6}).output("y").node("Transpose", {"x"}, {"y"}, {{"perm", Ints{-1, 0}}});
        RETRO_MADE(graph, formats::parseOnnx(model.bytes(), "model.onnx", {}, {}));
        QCOMPARE(std::get<Ints>((*graph)->nodes()[0].attributes.at("perm")), (Ints{1, 0}));
    }

    void otherLoopsAreRefusedByName()
    {
        const auto isRefused = [](const ProtoModel& model) {
            return answer(model).find("only tensors are supported") != std::string::npos;
        };
        ProtoModel stops = split(2, 0); // whether it goes on is computed
        stops.proto().mutable_graph()->mutable_initializer(1)->set_name("other");
        stops.proto().mutable_graph()->add_node()->set_op_type("Not");
        stops.proto().mutable_graph()->mutable_node(4)->add_input("other");
        stops.proto().mutable_graph()->mutable_node(4)->add_output("goes on");
        QVERIFY(isRefused(stops));
        QVERIFY(isRefused(split(100'000'000, 0)));
    }
};

QTEST_GUILESS_MAIN(ListLoopsTest)
#include "listloopstest.moc"
