// SPDX-License-Identifier: Apache-2.0
#include "core/ops/elements.h"
#include "core/rewrite/chainfuser.h"
#include "core/rewrite/passes.h"
#include "core/rewrite/recognise/functions.h"

#include <algorithm>
#include <array>
#include <ranges>

namespace retro::rewrite
{

using graph::Node;
using tensor::DType;
using tensor::Tensor;

namespace
{

/// Most nodes of a function of elements, and of one of rows.
constexpr std::size_t kMostElementNodes = 14;
constexpr std::size_t kMostRowNodes = 24;

/// A constant of the model in the shape of a parameter: `numbers`, or its beginning along every axis.
Tensor inShapeOf(const Tensor& numbers, const Tensor& own)
{
    if (own.size() == numbers.size()) {
        return own.contiguous().reshaped(numbers.shape());
    }
    const auto front = static_cast<std::ptrdiff_t>(own.rank() - numbers.rank()); // axes of extent 1
    return own.contiguous().reshaped({own.shape().begin() + front, own.shape().end()});
}

/// The constant that a new node reads as parameter `i`.
ValueId parameterOf(Draft& draft, const Cone& cone, const Recognised& found, std::size_t i)
{
    constexpr std::array kNames{std::array{".scale", ".bias"}, std::array{".min", ".max"}};
    const Tensor& numbers = found.known.parameters[i];
    const std::string name = draft.node(cone.root()).name + kNames.at(found.known.op == "Clip" ? 1 : 0).at(i);
    if (const ValueId own = i < found.parameters.size() ? found.parameters[i] : ValueId(); own.isValid()) {
        const Tensor data = inShapeOf(numbers, draft.value(own).constant);
        const bool isSame = data.shape() == draft.value(own).constant.shape();
        return isSame ? own : draft.addConstant(name, data, draft.value(own).dtype);
    }
    const DType type = draft.value(cone.leaf()).dtype;
    const double first = numbers.at(0);
    const bool isScaleOfRows =
        i == 0 && (found.known.op == "LayerNormalization" || found.known.op == "RMSNormalization");
    const auto isFirst = [=](double each) { return std::abs(each - first) <= 1e-9 * std::abs(first); };
    if (isScaleOfRows && std::ranges::all_of(numbers.span<double>(), isFirst)) {
        return draft.addConstant(name, Tensor::full(DType::Float64, {1}, asWritten(cone, first)), type);
    }
    return draft.addConstant(name, numbers, type);
}

/// What is rounded to 16 bits has other bits where it is rounded once for all nodes.
bool hasBitsOfKernel(const Draft& draft, const Cone& cone, const Recognised& found)
{
    const auto isChain = [&](auto&& chain) { return std::ranges::equal(chain, cone.operators()); };
    return !tensor::isNarrow(draft.value(cone.leaf()).dtype) &&
           std::ranges::any_of(found.sameBits | std::views::split(std::string_view(", ")), isChain);
}

/// Puts the function in the place of the cone. False: something outside reads a value inside.
bool take(Draft& draft, ChainFuser& fuser, const Cone& cone, const Recognised& found)
{
    const Pattern pattern(draft, cone.root(), cone.members());
    Fusion fusion{found.known.op, found.known.opset, {cone.leaf()}, found.known.attributes};
    fusion.keepsBits = !hasBitsOfKernel(draft, cone, found);
    for (std::size_t i = 0; i < found.known.parameters.size() && pattern.obstacle().empty(); ++i) {
        fusion.inputs.push_back(parameterOf(draft, cone, found, i));
    }
    return fuser.take(pattern, fusion);
}

/// True when a node of the cone is already what the cone is recognised as: the others do nothing.
bool isItself(const Draft& draft, const Cone& cone, const Recognised& found)
{
    const std::vector<NodeId> members = cone.members();
    return std::ranges::any_of(members, [&](NodeId member) {
        const Node& node = draft.node(member);
        return node.op == found.known.op && node.inputs[0] == cone.leaf();
    });
}

/// One operator with equal numbers.
bool isSameFunction(const KnownOperator& a, const KnownOperator& b)
{
    const auto isSame = [](const auto& one, const auto& other) {
        const auto* number = std::get_if<double>(&one.second);
        const auto* second = std::get_if<double>(&other.second);
        return one.first == other.first && (number == nullptr || second == nullptr || *number == *second);
    };
    return a.op == b.op && std::ranges::equal(a.attributes, b.attributes, isSame);
}

/// Both ends of the cone are floats, of one type unless nothing converts them.
bool isOfFloats(const Draft& draft, const Cone& cone)
{
    const DType type = draft.value(cone.leaf()).dtype;
    const std::vector<NodeId> members = cone.members();
    const auto isCast = [&](NodeId member) { return draft.node(member).op == "Cast"; };
    return tensor::isFloating(type) &&
           (type == draft.value(draft.node(cone.root()).outputs[0]).dtype || std::ranges::none_of(members, isCast));
}

/// The farthest value of which a node is a known function of elements (max(0, min(x, 6)) is one Clip), but of a
/// function the nearest: relu(relu(x)) stays.
void recogniseElements(Draft& draft, ChainFuser& fuser, ElementFunctions& functions, NodeId root)
{
    Cone cone(draft, root);
    std::vector<std::pair<Cone, Recognised>> found;
    // One number per place is no function of elements.
    while (cone.grow(kMostElementNodes, ConeStep::Curve) && !cone.hasSeveralNumbers()) {
        const std::optional<Recognised>& answer = functions.find(cone);
        const bool isOwn = answer && isItself(draft, cone, *answer);
        if (isOwn && cone.size() == 1 && answer->known.op != "Clip") {
            return;
        }
        const bool isNew =
            answer && !isOwn && (found.empty() || !isSameFunction(found.back().second.known, answer->known));
        if (isNew && isOfFloats(draft, cone) && keepsShape(cone)) {
            found.emplace_back(cone, *answer);
        }
    }
    for (std::size_t i = found.size(); i-- > 0;) {
        if (take(draft, fuser, found[i].first, found[i].second)) {
            return;
        }
    }
}

/// True for a node that a function of rows of the group can end with. What a number alone scales or shifts behind a
/// normalisation is no part of it: it may begin something else, like the exponent of a logistic function.
bool mayEndRow(const Draft& draft, const Node& node, FunctionGroup group)
{
    constexpr std::array<std::string_view, 7> kSoftmax{"Exp", "Log", "Softmax", "LogSoftmax", "Sub", "Mul", "Div"};
    constexpr std::array<std::string_view, 6> kNorm{"Add", "Sum", "Reshape", "Sub", "Mul", "Div"};
    const auto isNumber = [&](ValueId input) {
        return draft.isConstant(input) && draft.value(input).constant.size() == 1;
    };
    if (group == FunctionGroup::Softmax) {
        return std::ranges::find(kSoftmax, node.op) != kSoftmax.end();
    }
    return std::ranges::find(kNorm, node.op) != kNorm.end() && std::ranges::none_of(node.inputs, isNumber);
}

/// A normalisation that has its own scale or shift takes no other one in: what follows is meant by itself.
bool hasOwnAffine(const Draft& draft, const Cone& cone)
{
    constexpr std::array<std::string_view, 4> kNorms{"LayerNormalization", "RMSNormalization", "InstanceNormalization",
                                                     "GroupNormalization"};
    const std::vector<NodeId> members = cone.members();
    return std::ranges::any_of(members, [&](NodeId member) {
        const Node& node = draft.node(member);
        bool isPlain = true;
        for (std::size_t slot = 1; slot < node.inputs.size() && node.inputs[slot].isValid(); ++slot) {
            isPlain = isPlain && uniformNumber(draft, node.inputs[slot]) == (slot == 1 ? 1.0 : 0.0);
        }
        return !isPlain && std::ranges::find(kNorms, node.op) != kNorms.end();
    });
}

/// A value that a row function may read: more than one node needs it, or one that is no sum or product.
bool mayBeRow(const Draft& draft, const Cone& cone)
{
    const auto isStart = [&](NodeId member) {
        const Node& node = draft.node(member);
        return coneStepOf(node) > ConeStep::Element && std::ranges::count(node.inputs, cone.leaf()) > 0;
    };
    const std::vector<NodeId> members = cone.members();
    return cone.leafReads() > 1 || std::ranges::any_of(members, isStart);
}

/// The farthest value of which a node is a known function of rows: softmax(x − max x) is softmax(x).
void recogniseRows(Draft& draft, ChainFuser& fuser, RowFunctions& functions, NodeId root)
{
    if (!mayEndRow(draft, draft.node(root), functions.group())) {
        return;
    }
    Cone cone(draft, root);
    std::vector<Cone> cones;
    while (cone.grow(kMostRowNodes, ConeStep::Row)) {
        const bool isOpen = cone.size() > 1 && functions.mayKnow(cone);
        if (isOpen && isOfFloats(draft, cone) && mayBeRow(draft, cone) && !hasOwnAffine(draft, cone)) {
            cones.push_back(cone);
        }
    }
    for (std::size_t i = cones.size(); i-- > 0;) {
        const std::optional<Recognised> found = functions.find(cones[i]);
        if (found && take(draft, fuser, cones[i], *found)) {
            return;
        }
    }
}

/// Tries every node as the last of a function, last nodes first.
template <class Try>
void forEachRoot(Draft& draft, ConeStep mark, ConeStep widest, std::size_t most, const Try& tryRoot)
{
    const ConeReach reach(draft, mark, widest);
    for (std::size_t i = draft.before().nodeCount(); i-- > 0 && !draft.isStopped();) {
        if (!draft.isRemoved(NodeId(i)) && reach.holds(NodeId(i), most) &&
            !ops::areElements(draft.node(NodeId(i)), {ops::Elements::Kept, ops::Elements::Converted})) {
            tryRoot(NodeId(i));
        }
    }
}

void recogniseRows(Draft& draft, std::vector<RewriteStep>& steps, const char* rewrite, FunctionGroup group)
{
    ChainFuser fuser(draft, steps, rewrite);
    RowFunctions functions(group);
    forEachRoot(draft, ConeStep::Row, ConeStep::Row, kMostRowNodes,
                [&](NodeId root) { recogniseRows(draft, fuser, functions, root); });
    fuser.sayObstacles();
}

} // namespace

void fuseLayerNorm(Draft& draft, std::vector<RewriteStep>& steps)
{
    recogniseRows(draft, steps, "fuse LayerNormalization", FunctionGroup::LayerNorm);
}

void fuseRmsNorm(Draft& draft, std::vector<RewriteStep>& steps)
{
    recogniseRows(draft, steps, "fuse RMSNormalization", FunctionGroup::RmsNorm);
}

void fuseSoftmax(Draft& draft, std::vector<RewriteStep>& steps)
{
    recogniseRows(draft, steps, "fuse softmax", FunctionGroup::Softmax);
}

void fuseNorms(Draft& draft, std::vector<RewriteStep>& steps)
{
    recogniseRows(draft, steps, "fuse normalisation", FunctionGroup::Norm);
}

void fuseActivations(Draft& draft, std::vector<RewriteStep>& steps)
{
    ChainFuser fuser(draft, steps, "fuse activation");
    ElementFunctions functions;
    forEachRoot(draft, ConeStep::Curve, ConeStep::Curve, kMostElementNodes,
                [&](NodeId root) { recogniseElements(draft, fuser, functions, root); });
    fuser.sayObstacles();
}

} // namespace retro::rewrite
