// SPDX-License-Identifier: Apache-2.0
#include "core/ops/registry.h"

#include "core/ops/bind/bindcheck.h"
#include "core/ops/families.h"
#include "core/ops/kernel/roundnumbers.h"
#include "core/ops/numbertypes.h"
#include "core/ops/runoperator.h"
#include "core/ops/schema/schema.h"
#include "core/ops/writtenoperator.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace retro::ops
{

namespace
{

#define RETRO_ADDRESS(family) &family,
std::vector<OperatorDeclaration> gather()
{
    std::vector<OperatorDeclaration> all;
    for (const OperatorFamily* family : {RETRO_OPERATOR_FAMILIES(RETRO_ADDRESS)}) {
        all.insert(all.end(), family->begin(), family->end());
    }
    std::sort(all.begin(), all.end(), [](const OperatorDeclaration& a, const OperatorDeclaration& b) {
        return std::tie(a.domain, a.op, a.sinceOpset) < std::tie(b.domain, b.op, b.sinceOpset);
    });
    return all;
}
#undef RETRO_ADDRESS

/// "ai.onnx" and "" are two spellings of one domain.
std::string_view canonical(std::string_view domain) { return domain == "ai.onnx" ? std::string_view{} : domain; }

/// Last opset that a declaration covers.
std::int64_t lastOpset(const OperatorDeclaration& d)
{
    if (d.untilOpset != 0) {
        return d.untilOpset;
    }
    return d.domain.empty() ? kNewestOpset : d.sinceOpset;
}

/// Those of one operator, by opset.
std::span<const OperatorDeclaration> declarationsOf(std::string_view domain, std::string_view op)
{
    const auto key = [](const OperatorDeclaration& d) { return std::tuple(d.domain, d.op); };
    const auto found = std::ranges::equal_range(declarations(), std::tuple(canonical(domain), op), {}, key);
    return {found.begin(), found.end()};
}

/// The opsets at which an operator is known, for messages; empty when it is not known at all.
std::string knownOpsets(std::string_view domain, std::string_view op)
{
    std::string text;
    for (const OperatorDeclaration& d : declarationsOf(domain, op)) {
        text += fmt::format("{}{} to {}", text.empty() ? "" : ", ", d.sinceOpset, lastOpset(d));
    }
    return text;
}

std::string reasonFor(const graph::Node& node)
{
    const std::string domain = canonical(node.domain).empty() ? "ai.onnx" : node.domain;
    const std::string known = knownOpsets(canonical(node.domain), node.op);
    if (known.empty()) {
        const bool isCaptured = domain == "torch"; // a capture's name for what the standard has not
        return fmt::format(
            "operator {} (domain {}, opset {}) is not implemented; {}replace it in the model by operators "
            "that `retrograde-cli ops` lists",
            node.op, domain, node.opset,
            isCaptured ? "write the module with torch.onnx.export in place of a capture, or " : "");
    }
    return fmt::format("operator {} (domain {}) is not implemented at opset {}, only at {}; convert the model to one "
                       "of those",
                       node.op, domain, node.opset, known);
}

} // namespace

std::span<const OperatorDeclaration> declarations()
{
    static const std::vector<OperatorDeclaration> all = gather();
    return all;
}

const OperatorDeclaration* find(std::string_view domain, std::string_view op, std::int64_t opset)
{
    for (const OperatorDeclaration& one : declarationsOf(domain, op)) {
        if (one.sinceOpset <= opset && opset <= lastOpset(one)) {
            return &one;
        }
    }
    return nullptr;
}

bool readsShapeAlone(const graph::Node& node)
{
    return node.domain.empty() && (node.op == "Shape" || node.op == "Size");
}

Elements elementsOf(std::string_view domain, std::string_view op)
{
    const auto known = declarationsOf(domain, op);
    if (known.empty() || known.front().elements != Elements::Mixed) {
        return known.empty() ? Elements::Mixed : known.front().elements;
    }
    const std::string_view structure = known.front().structure;
    return structure.starts_with("element-wise") ? Elements::Function
           : structure.starts_with("sum of")     ? Elements::Summed
           : structure.starts_with("product")    ? Elements::Multiplied
           : structure.starts_with("quotient")   ? Elements::Divided
                                                 : Elements::Mixed;
}

namespace
{

/// Narrow types are kept, moved and converted; nothing computes in them.
base::Result<void> expectWide(const BindContext& context)
{
    for (std::size_t slot = 0; slot < context.operandTypes.size(); ++slot) {
        if (context.present(slot) && tensor::isNarrow(context.operandTypes[slot].dtype)) {
            return context.error(fmt::format("operand {} is {}, in which this operator does not compute; convert it "
                                             "first (DequantizeLinear, Cast)",
                                             slot, tensor::nameOf(context.operandTypes[slot].dtype)));
        }
    }
    return {};
}

/// Shapes that operators compute with: also those that come from a file or an input.
base::Result<void> expectOperandSizes(const BindContext& context)
{
    for (std::size_t slot = 0; slot < context.operandTypes.size(); ++slot) {
        const std::string what = fmt::format("operand {}", slot);
        RETRO_CHECK(context.present(slot) ? expectSize(context, context.operandTypes[slot].shape, what)
                                          : base::Result<void>());
    }
    return {};
}

base::Result<void> expectResultSizes(const BindContext& context, const BoundOperator& op)
{
    for (const TensorType& type : op.outputTypes()) {
        RETRO_CHECK(expectSize(context, type.shape));
    }
    return {};
}

/// True when every element of the result is one of an operand of the same type: nothing is to be rounded.
bool onlyMoves(const BindContext& context, const BoundOperator& op, tensor::DType made)
{
    const std::string& name = context.node.op;
    const bool isMap = op.structure().kind() == StructureKind::ShapeMap;
    return isMap && name != "Cast" && name != "CastLike" && name != "Pad" && // before opset 11 Pad had its own number
           std::ranges::all_of(context.numbers, [made](tensor::DType operand) {
               return !tensor::isFloating(operand) || operand == made;
           });
}

/// Results that hold fewer numbers in the model than the run stores are rounded.
void roundResults(const BindContext& context, BoundOperator& op)
{
    const std::vector<tensor::DType> types = resultNumbers(context.node, context.numbers);
    std::vector<std::optional<tensor::DType>> rounded(std::min(types.size(), op.outputTypes().size()));
    bool isAny = false;
    for (std::size_t k = 0; k < rounded.size(); ++k) {
        const tensor::DType stored = op.outputTypes()[k].dtype;
        if (tensor::isFloating(stored) && isWiderThan(stored, types[k]) && !onlyMoves(context, op, types[k])) {
            rounded[k] = types[k];
            isAny = true;
        }
    }
    if (isAny) {
        op.roundTo(std::move(rounded));
    }
}

} // namespace

base::Result<std::unique_ptr<BoundOperator>> bind(const BindContext& context)
{
    const OperatorDeclaration* declaration = ops::find(context.node.domain, context.node.op, context.node.opset);
    if (declaration == nullptr) {
        return context.error(reasonFor(context.node));
    }
    if (context.operandTypes.size() < context.node.inputs.size()) {
        return context.error("the types of some operands are not known");
    }
    if (context.node.outputs.empty()) {
        return context.error("it has no outputs");
    }
    RETRO_CHECK(expectOperandSizes(context));
    if (auto fault = schemaFault(context.node)) {
        return context.error(std::move(*fault));
    }
    RETRO_CHECK(expectFiniteFactors(context));
    if (!declaration->takesNarrow) {
        RETRO_CHECK(expectWide(context));
    }
    auto bound = base::caught([&] { return declaration->bind(context); });
    if (!bound.ok()) {
        const bool hasPlace = !bound.error().where.empty();
        return hasPlace ? std::move(bound) : base::within(std::move(bound).error(), placeOf(context.node));
    }
    if (context.node.written != nullptr) {
        RETRO_TRY(*bound, bindWritten(context, std::move(bound).value()));
    }
    RETRO_CHECK(expectResultSizes(context, **bound));
    if (!context.numbers.empty()) {
        roundResults(context, **bound);
    }
    return bound;
}

namespace
{

/// Reasons of a graph's nodes and of those in graphs inside them.
void collectReasons(const graph::Graph& graph, std::vector<std::string>& reasons);

void collectReasons(const graph::Node& node, std::vector<std::string>& reasons)
{
    if (ops::find(node.domain, node.op, node.opset) == nullptr) {
        reasons.push_back(reasonFor(node));
    } else if (auto fault = schemaFault(node)) {
        reasons.push_back(std::move(*fault));
    }
    for (const auto& [name, value] : node.attributes) {
        if (const auto* nested = std::get_if<graph::Subgraph>(&value)) {
            collectReasons(*nested->graph, reasons);
        }
    }
}

void collectReasons(const graph::Graph& graph, std::vector<std::string>& reasons)
{
    for (const graph::Node& node : graph.nodes()) {
        std::vector<std::string> inner;
        collectReasons(node, inner);
        for (const std::string& reason : inner) {
            reasons.push_back(fmt::format("inside it node '{}': {}", node.name, reason));
        }
    }
}

} // namespace

std::vector<UnsupportedNode> unsupported(const graph::Graph& graph)
{
    std::vector<UnsupportedNode> found;
    for (std::size_t i = 0; i < graph.nodeCount(); ++i) {
        std::vector<std::string> reasons;
        collectReasons(graph.nodes()[i], reasons);
        for (std::string& reason : reasons) {
            found.push_back({graph::NodeId(i), std::move(reason)});
        }
    }
    return found;
}

} // namespace retro::ops
