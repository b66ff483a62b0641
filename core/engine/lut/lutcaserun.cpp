// SPDX-License-Identifier: Apache-2.0
#include "core/engine/lut/lutcaserun.h"

#include "core/formats/onnx.h"
#include "core/graph/graphbuilder.h"

namespace retro::engine
{

namespace
{

using base::Result;
using base::ValueId;
using formats::LutCase;
using tensor::DType;
using tensor::Shape;
using tensor::Tensor;

constexpr std::int64_t kOpset = 18;

std::int64_t asExtent(std::uint64_t n) { return static_cast<std::int64_t>(n); }

/// [B, last] or [B, S, last].
Shape perSample(const LutCase& given, std::uint64_t last)
{
    return given.shape.isSequence ? Shape{asExtent(given.batch), asExtent(given.shape.length), asExtent(last)}
                                  : Shape{asExtent(given.batch), asExtent(last)};
}

/// Numbers of a case are exact in float32.
Tensor numbersOf(const Shape& shape, const std::vector<double>& values)
{
    return Tensor::of<float>(shape, std::vector<float>(values.begin(), values.end()));
}

Tensor weightsOf(const LutCase& given)
{
    const lut::LayerShape& shape = given.shape;
    const Tensor weights = numbersOf(given.isSparse ? Shape{asExtent(given.weights.size())}
                                                    : Shape{shape.tables, asExtent(shape.rows()), shape.outputs},
                                     given.weights);
    return given.rowType == lut::RowType::Real
               ? weights
               : weights.to(given.rowType == lut::RowType::Float16 ? DType::Float16 : DType::BFloat16);
}

Tensor anchorsOf(const LutCase& given)
{
    std::vector<std::int64_t> anchors;
    for (const lut::Anchor& pair : given.anchors) {
        for (const std::uint32_t id : {pair.a, pair.b}) {
            anchors.push_back(id == lut::kUnusedAnchor ? -1 : std::int64_t{id});
        }
    }
    return Tensor::of<std::int64_t>({given.shape.tables, given.shape.comparisons, 2}, anchors);
}

template <class T>
Tensor wideOf(const std::vector<T>& values)
{
    return Tensor::of<std::int64_t>({asExtent(values.size())}, std::vector<std::int64_t>(values.begin(), values.end()));
}

std::vector<ValueId> operandsOf(graph::GraphBuilder& builder, const LutCase& given, ValueId x)
{
    const lut::LayerShape& shape = given.shape;
    std::vector<ValueId> operands{x, builder.addConstant("anchors", anchorsOf(given)),
                                  builder.addConstant("weights", weightsOf(given))};
    if (shape.codeBits > 0) {
        operands.push_back(
            builder.addConstant("codes", numbersOf({shape.lags(), shape.tables, shape.codeBits}, given.codes)));
    } else if (given.isSparse) {
        operands.emplace_back(); // absent
    }
    if (given.isSparse) {
        operands.push_back(builder.addConstant("row_starts", wideOf(given.rowStarts)));
        operands.push_back(builder.addConstant("columns", wideOf(given.columns)));
    }
    return operands;
}

Result<graph::Graph> graphOf(const LutCase& given, lut::Path path)
{
    graph::GraphBuilder builder(given.name, kOpset);
    builder.setOpset("ai.retrograde", 1);
    const ValueId x = builder.addInput("x", DType::Float32, perSample(given, given.shape.inputs));
    const auto node = [&](const char* op, const char* domain, const char* name, std::vector<ValueId> inputs,
                          const char* result, graph::Attributes attributes) {
        const ValueId output = builder.addResult(result);
        const std::int64_t version = *domain == '\0' ? kOpset : 1;
        builder.addNode({op, domain, name, "", version, std::move(inputs), {output}, std::move(attributes)});
        return output;
    };
    const ValueId y = node("LUT", "ai.retrograde", "lut", operandsOf(builder, given, x), "y",
                           {{"sequence", std::int64_t{given.shape.isSequence ? 1 : 0}},
                            {"outputs", std::int64_t{given.shape.outputs}},
                            {"documented", std::int64_t{path == lut::Path::Documented ? 1 : 0}}});
    const ValueId g =
        builder.addConstant("grad_output", numbersOf(perSample(given, given.shape.outputs), given.outputGradients));
    const ValueId weighed = node("Mul", "", "weigh", {y, g}, "weighed", {});
    builder.addOutput(node("ReduceSum", "", "total", {weighed}, "sum", {{"keepdims", std::int64_t{0}}}));
    return std::move(builder).build();
}

} // namespace

Result<ExplainResult> recordLutCase(const LutCase& given, const LutRunOptions& options)
{
    if (given.outputGradients.empty()) {
        return base::usageError("a run is recorded of a case with grad_output, from which its backward pass starts",
                                given.where);
    }
    RETRO_TRY(const graph::Graph graph, graphOf(given, options.path));
    RETRO_TRY(const std::vector<std::byte> bytes, formats::toOnnx(graph));
    RETRO_TRY(const LoadedModelPointer model, parseModel(bytes, given.name + ".onnx", {}));
    ExplainRequest request;
    request.inputs = {numbersOf(perSample(given, given.shape.inputs), given.input)};
    request.target.kind = TargetRequest::Kind::Value;
    request.target.value = "sum";
    request.start.kind = StartKind::One;
    request.composite = "gradient";
    request.precision = options.isDouble ? execute::Precision::Double : execute::Precision::Float;
    request.record = request.keepValues = true;
    request.sources = {given.where};
    return explain(*model, request);
}

} // namespace retro::engine
