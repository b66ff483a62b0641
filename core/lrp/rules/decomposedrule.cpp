// SPDX-License-Identifier: Apache-2.0
#include "core/lrp/rules/decomposedrule.h"

#include "core/base/failure.h"
#include "core/execute/constantvalue.h"
#include "core/execute/forward.h"
#include "core/lrp/rules/balance.h"
#include "core/lrp/rules/linearrule.h"
#include "core/lrp/rules/ruledeclaration.h"
#include "core/lrp/traversal/oracle.h"
#include "core/lrp/traversal/regionpass.h"
#include "core/lrp/traversal/traversalgraph.h"
#include "core/ops/attention/attentioncore.h"
#include "core/ops/kernel/slices.h"
#include "core/ops/kernel/visitnumber.h"
#include "core/ops/layerkind.h"
#include "core/ops/linear/storedweight.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

namespace retro::lrp
{

namespace algebra = ops::algebra;
using execute::BoundModel;
using execute::NodeId;
using execute::ValueId;

namespace
{

/// What a composite says; the parts depend on the node.
class DecomposedRule : public Rule
{
public:
    [[nodiscard]] std::string_view name() const final { return "decomposed"; }
    [[nodiscard]] bool accepts(const ops::Structure& structure) const final
    {
        return structure.kind() == ops::StructureKind::Composed;
    }
    [[nodiscard]] ops::Reads reads(const ops::BoundOperator&, std::span<const std::uint8_t>) const final
    {
        return ops::Reads::allOperands();
    }
    [[nodiscard]] std::vector<Tensor> apply(const RuleContext& context) const override
    {
        base::guard(false, "assignRules() binds this rule to its node");
        return std::vector<Tensor>(context.tracked.size());
    }
};

/// A result of the body that relevance can start from.
struct BodyResult
{
    std::size_t output; ///< of the node
    TraversalGraph graph;
};

class BoundDecomposedRule : public DecomposedRule, public LinearRule
{
public:
    BoundDecomposedRule(std::shared_ptr<const BoundModel> body, std::vector<std::size_t> operands, RuleAssignment rules,
                        std::vector<BodyResult> results)
        : m_body(std::move(body)), m_operands(std::move(operands)), m_rules(std::move(rules)),
          m_results(std::move(results))
    {}

    [[nodiscard]] std::string text() const override
    {
        const auto first = std::ranges::find_if(m_rules, [](const AssignedRule& each) { return each.isFirst; });
        return fmt::format("decomposed into {} nodes{}", m_body->graph().nodeCount(),
                           first == m_rules.end() ? "" : ", first layer: " + first->rule->text());
    }

    [[nodiscard]] std::vector<Tensor> apply(const RuleContext& context) const override
    {
        Balance balance(context);
        std::vector<Tensor> parts(context.tracked.size());
        carry(context, parts, balance);
        for (std::size_t slot = 0; slot < parts.size(); ++slot) {
            if (context.tracked[slot] == 0) {
                parts[slot] = {};
            } else if (!parts[slot].isValid()) {
                parts[slot] = Tensor::zeros(context.operandTypes[slot].dtype, context.operandTypes[slot].shape);
            }
        }
        return balance.close(std::move(parts));
    }

    [[nodiscard]] bool isLinear() const override
    {
        return std::ranges::all_of(
            m_rules, [](const AssignedRule& each) { return each.rule == nullptr || asLinear(*each.rule) != nullptr; });
    }
    [[nodiscard]] std::string noForward(const ops::BoundOperator&, std::span<const std::uint8_t>) const override
    {
        for (const BodyResult& result : m_results) {
            if (const auto can = checkWeighable(*m_body, m_rules, result.graph); !can) {
                return can.error().text();
            }
        }
        return {};
    }
    /// The same way through the body, from all operands to each result.
    [[nodiscard]] std::vector<Tensor> weigh(const WeighContext& context) const override
    {
        const auto forward =
            base::orFail(execute::forward(m_body, inputsOf(context.operands), execute::SavePolicy::All));
        const auto values = [&](NodeId node, const ops::Reads&) {
            NodeValues all;
            for (const ValueId operand : m_body->graph().node(node).inputs) {
                all.operands.push_back(operand.isValid() ? forward.saved.anyValue(operand) : Tensor());
            }
            for (const ValueId output : m_body->graph().outputsOf(node)) {
                all.outputs.push_back(output.isValid() ? forward.saved.anyValue(output) : Tensor());
            }
            return all;
        };
        std::vector<Tensor> masks;
        for (const std::size_t slot : m_operands) {
            masks.push_back(context.weights[slot]);
        }
        std::vector<Tensor> weights(context.op.outputTypes().size());
        for (const BodyResult& result : m_results) {
            if (result.output >= weights.size()) { // it has none: its nodes make the one that is read
                continue;
            }
            const std::vector<Tensor> inside =
                base::orFail(regionWeights({*m_body, m_rules, result.graph, values, masks, {}, {}, {}, {}}));
            const Root& root = result.graph.roots().front();
            weights[result.output] = inside[m_body->graph().outputsOf(root.node)[root.output].index()];
        }
        return weights;
    }

    /// Adds what the operands get of what arrived to `parts`, by operand slot.
    virtual void carry(const RuleContext& context, std::vector<Tensor>& parts, Balance& balance) const
    {
        carry(context.operands, context.relevance, parts, balance);
    }
    void carry(std::span<const Tensor> operands, std::span<const Tensor> relevance, std::vector<Tensor>& parts,
               Balance& balance) const
    {
        // bound to these types; its operands were checked by the node's own forward pass
        const auto forward = base::orFail(execute::forward(m_body, inputsOf(operands), execute::SavePolicy::All));
        for (const BodyResult& result : m_results) {
            const bool arrived = result.output < relevance.size() && relevance[result.output].isValid();
            if (arrived) {
                carryBack(result.graph, forward.saved, relevance[result.output], parts, balance);
            }
        }
    }

    [[nodiscard]] const RuleAssignment& rules() const { return m_rules; }
    /// Every part has the same rule as there.
    [[nodiscard]] bool hasRulesOf(const BoundDecomposedRule& other) const
    {
        const auto isSame = [](const AssignedRule& a, const AssignedRule& b) {
            return a.rule && b.rule ? isSameRule(*a.rule, *b.rule) : a.rule == b.rule;
        };
        return std::ranges::equal(m_rules, other.m_rules, isSame);
    }

private:
    [[nodiscard]] std::vector<Tensor> inputsOf(std::span<const Tensor> operands) const
    {
        std::vector<Tensor> inputs;
        for (const std::size_t slot : m_operands) {
            inputs.push_back(operands[slot].contiguous()); // once, not in every product that reads it
        }
        return inputs;
    }

    void carryBack(const TraversalGraph& graph, const execute::SavedValues& values, const Tensor& relevance,
                   std::vector<Tensor>& parts, Balance& balance) const
    {
        std::vector<event::LedgerEntry> ledger;
        // nobody can stop it
        addShares(base::orFail(oracle(values, m_rules, graph, relevance, {}, balance.isWanted() ? &ledger : nullptr)),
                  parts);
        for (const event::LedgerEntry& row : ledger) {
            bookCauses(row, balance);
        }
    }

    void addShares(const RelevanceTable& table, std::vector<Tensor>& parts) const
    {
        for (std::size_t i = 0; i < m_operands.size(); ++i) {
            const std::vector<Tensor>& arrived = table[m_body->graph().nodeCount() + i];
            if (!arrived.empty() && arrived.front().isValid()) {
                Tensor& part = parts[m_operands[i]];
                part = part.isValid() ? algebra::add(part, arrived.front()) : arrived.front();
            }
        }
    }

    static void bookCauses(const event::LedgerEntry& row, Balance& balance)
    {
        for (std::size_t cause = 0; cause < event::kCauseCount; ++cause) {
            balance.book(static_cast<event::Cause>(cause), row.causes[cause]);
        }
    }

    std::shared_ptr<const BoundModel> m_body;
    std::vector<std::size_t> m_operands; // per input of the body
    RuleAssignment m_rules;
    std::vector<BodyResult> m_results;
};

std::vector<rewrite::BodyOperand> operandsOf(const BoundModel& model, NodeId id)
{
    std::vector<rewrite::BodyOperand> operands;
    for (const ValueId input : model.graph().node(id).inputs) {
        if (!input.isValid()) {
            operands.push_back({{}, {}, false, false});
            continue;
        }
        const bool isTracked = model.isTracked(input); // then it depends on an input
        operands.push_back({model.typeOf(input), isTracked ? tensor::Tensor() : execute::constantValue(model, input),
                            true, !isTracked});
    }
    return operands;
}

// The members' inputs are operands by name.
base::Result<rewrite::FunctionBody> bodyOfMembers(const BoundModel& model, NodeId id, const graph::Graph& members)
{
    const graph::Node& node = model.graph().node(id);
    rewrite::FunctionBody body;
    std::vector<bool> isDetached;
    for (const ValueId input : members.inputs()) {
        const auto value = model.graph().findValue(members.value(input).name);
        const auto at = value ? std::find(node.inputs.begin(), node.inputs.end(), *value) : node.inputs.end();
        if (at == node.inputs.end()) {
            return base::inputError(
                fmt::format("its members read \"{}\", which it does not", members.value(input).name));
        }
        body.operands.push_back(static_cast<std::size_t>(at - node.inputs.begin()));
        isDetached.push_back(!model.isTracked(*at));
    }
    RETRO_TRY(graph::Graph detached, rewrite::withDetached(members, isDetached));
    body.graph = std::make_shared<const graph::Graph>(std::move(detached));
    body.results = {0};
    return body;
}

/// A body with rules for its nodes.
struct RuledBody
{
    std::shared_ptr<const BoundModel> model;
    std::vector<std::size_t> operands;
    RuleAssignment rules;
    std::vector<BodyResult> results;
};

/// `operands` are the types of the node's, by slot.
base::Result<RuledBody> ruledBody(const Composite& composite, const BoundModel& model,
                                  std::span<const ops::TensorType> operands, rewrite::FunctionBody body, EntryUse* use)
{
    std::vector<ops::TensorType> types;
    for (const std::size_t slot : body.operands) {
        types.push_back(operands[slot]);
    }
    RETRO_TRY(const auto bound, BoundModel::bind(body.graph, types, execute::insideOf(model.precision())));
    RETRO_TRY(RuleAssignment rules, assignRules(composite, *bound, {}, {}, use));
    std::vector<BodyResult> results;
    for (std::size_t i = 0; i < body.results.size(); ++i) {
        const ValueId output = body.graph->outputs()[i];
        if (bound->isTracked(output)) {
            RETRO_TRY(TraversalGraph graph, TraversalGraph::build(*bound, output));
            results.push_back({body.results[i], std::move(graph)});
        }
    }
    return RuledBody{bound, std::move(body.operands), std::move(rules), std::move(results)};
}

/// Scores of an attention of more bytes are not held at once: its heads, and where one is too large some queries of it,
/// are taken one after the other.
constexpr std::int64_t kMostScoreBytes = 8 << 20;

/// How an attention is taken in pieces: so many heads that share keys, and so many queries, at a time.
struct AttentionPieces
{
    std::int64_t batch = 1;
    std::int64_t keyHeads = 1;
    std::int64_t perKeyHead = 1; ///< heads of queries that share keys
    std::int64_t queries = 1;
    std::int64_t headsTogether = 1; ///< of keys
    std::int64_t rowsTogether = 1;
};

/// Queries, keys and values by head, at most a mask beside them that takes no relevance, and no result but y.
std::optional<AttentionPieces> piecesOf(const BoundModel& model, NodeId id)
{
    const graph::Node& node = model.graph().node(id);
    const bool isPlain =
        ops::isAttention(node) && node.inputs.size() >= 3 && node.inputs.size() <= 4 && node.outputs.size() == 1;
    if (!isPlain || !std::all_of(node.inputs.begin(), node.inputs.begin() + 3, [&model](ValueId input) {
            return model.typeOf(input).shape.size() == 4 && !model.isConstant(input);
        })) {
        return std::nullopt;
    }
    const bool hasMask = node.inputs.size() > 3 && node.inputs[3].isValid();
    if (hasMask && (model.isTracked(node.inputs[3]) || model.typeOf(node.inputs[3]).shape.size() > 4 ||
                    model.typeOf(node.inputs[3]).shape.size() < 2)) {
        return std::nullopt;
    }
    const tensor::Shape& q = model.typeOf(node.inputs[0]).shape;
    const tensor::Shape& k = model.typeOf(node.inputs[1]).shape;
    const auto width = static_cast<std::int64_t>(tensor::sizeOf(model.typeOf(node.inputs[0]).dtype));
    AttentionPieces pieces{q[0], k[1], q[1] / std::max<std::int64_t>(k[1], 1), q[2], k[1], q[2]};
    const std::int64_t perRow = pieces.perKeyHead * k[2] * width; // of the heads that share keys
    const std::int64_t perHead = perRow * q[2];
    if (perHead == 0 || perHead * pieces.keyHeads * pieces.batch <= kMostScoreBytes) {
        return std::nullopt;
    }
    pieces.headsTogether = std::clamp<std::int64_t>(kMostScoreBytes / perHead, 1, pieces.keyHeads);
    if (!ops::hangsOnPlaces(node)) {
        pieces.rowsTogether = std::clamp<std::int64_t>(kMostScoreBytes / perRow, 1, q[2]);
    }
    return pieces;
}

/// One piece: where it lies along batch, heads of keys, and queries.
struct Piece
{
    std::int64_t image = 0;
    std::int64_t head = 0;
    std::int64_t heads = 0;
    std::int64_t row = 0;
    std::int64_t rows = 0;
};

/// True where a mask of this shape is the same for each piece.
bool isOneForAll(const AttentionPieces& all, const tensor::Shape& mask)
{
    const tensor::Shape pieces{all.batch, all.headsTogether == all.keyHeads ? 1 : all.keyHeads,
                               all.rowsTogether == all.queries ? 1 : all.queries};
    const std::size_t missing = 4 - mask.size();
    for (std::size_t axis = missing; axis < pieces.size(); ++axis) {
        if (pieces[axis] > 1 && mask[axis - missing] > 1) {
            return false;
        }
    }
    return true;
}

/// The part of an operand (or of y) that belongs to a piece.
Tensor partOf(const AttentionPieces& all, const Piece& piece, std::size_t slot, Tensor t)
{
    constexpr std::size_t kMask = 3;
    constexpr std::size_t kOutput = 4;
    const bool isOfQueries = slot == 0 || slot == kMask || slot == kOutput;
    const std::int64_t times = isOfQueries ? all.perKeyHead : 1;
    const std::size_t missing = 4 - t.rank(); // axes of a mask that broadcasts
    const auto cut = [&](std::size_t axis, std::int64_t begin, std::int64_t count) {
        if (axis >= missing && t.shape()[axis - missing] > 1) {
            t = ops::slice(t, axis - missing, begin, count);
        }
    };
    cut(0, piece.image, 1);
    cut(1, piece.head * times, piece.heads * times);
    if (isOfQueries) {
        cut(2, piece.row, piece.rows);
    }
    return t;
}

/// Adds a piece's part to its place in the whole; the first one is put there.
void addPart(const AttentionPieces& all, const Piece& piece, std::size_t slot, const Tensor& part,
             tensor::TensorBuffer& whole)
{
    const tensor::Shape& shape = whole.shape();
    const std::int64_t times = slot == 0 ? all.perKeyHead : 1;
    const std::int64_t row = slot == 0 ? piece.row : 0;
    const bool isFirst = slot == 0 || piece.row == 0; // a sum with 0 would lose the sign of −0
    const Tensor plain = part.contiguous();
    const std::int64_t length = plain.shape()[2] * plain.shape()[3];
    ops::visitFloat(plain.dtype(), [&](auto zero) {
        using T = decltype(zero);
        const T* from = plain.data<T>();
        for (std::int64_t head = 0; head < piece.heads * times; ++head) {
            const std::int64_t at = (piece.image * shape[1] + piece.head * times + head) * shape[2] + row;
            T* const to = whole.data<T>() + at * shape[3];
            for (std::int64_t i = 0; i < length; ++i) {
                to[i] = isFirst ? from[i] : to[i] + from[i];
            }
            from += length;
        }
    });
}

/// A large attention whose pieces are carried one after the other. A head's relevance has the bits of the whole; where
/// its queries are taken in groups, what keys and values get of the groups is added.
class PiecewiseDecomposedRule final : public BoundDecomposedRule
{
public:
    using Bodies = std::map<std::pair<std::int64_t, std::int64_t>, std::shared_ptr<const BoundDecomposedRule>>;

    /// `bodies`: by the heads and rows of a piece.
    PiecewiseDecomposedRule(RuledBody whole, AttentionPieces pieces, Bodies bodies)
        : BoundDecomposedRule(std::move(whole.model), std::move(whole.operands), std::move(whole.rules),
                              std::move(whole.results)),
          m_pieces(pieces), m_bodies(std::move(bodies))
    {}

    void carry(const RuleContext& context, std::vector<Tensor>& parts, Balance& balance) const override
    {
        constexpr std::size_t kOperands = 3; // that take relevance
        std::vector<tensor::TensorBuffer> wholes;
        for (std::size_t slot = 0; slot < kOperands; ++slot) {
            wholes.emplace_back(context.operandTypes[slot].dtype, context.operandTypes[slot].shape);
            wholes.back().clear();
        }
        eachPiece(m_pieces, [&](const Piece& piece) {
            std::vector<Tensor> operands;
            for (std::size_t slot = 0; slot < context.operands.size(); ++slot) {
                const Tensor& operand = context.operands[slot];
                operands.push_back(operand.isValid() ? partOf(m_pieces, piece, slot, operand) : operand);
            }
            const std::array arrived{partOf(m_pieces, piece, kOperands + 1, context.relevance[0]).contiguous()};
            std::vector<Tensor> made(parts.size());
            m_bodies.at({piece.heads, piece.rows})->BoundDecomposedRule::carry(operands, arrived, made, balance);
            for (std::size_t slot = 0; slot < kOperands; ++slot) {
                if (made[slot].isValid()) {
                    addPart(m_pieces, piece, slot, made[slot], wholes[slot]);
                }
            }
        });
        for (std::size_t slot = 0; slot < kOperands; ++slot) {
            parts[slot] = std::move(wholes[slot]).freeze();
        }
    }

    /// Calls `visit` for each piece, in order.
    template <class Visit>
    static void eachPiece(const AttentionPieces& all, const Visit& visit)
    {
        for (std::int64_t image = 0; image < all.batch; ++image) {
            for (std::int64_t head = 0; head < all.keyHeads; head += all.headsTogether) {
                for (std::int64_t row = 0; row < all.queries; row += all.rowsTogether) {
                    visit(Piece{image, head, std::min(all.headsTogether, all.keyHeads - head), row,
                                std::min(all.rowsTogether, all.queries - row)});
                }
            }
        }
    }

private:
    AttentionPieces m_pieces;
    Bodies m_bodies;
};

std::vector<ops::TensorType> typesOf(std::span<const rewrite::BodyOperand> operands)
{
    std::vector<ops::TensorType> types;
    for (const rewrite::BodyOperand& operand : operands) {
        types.push_back(operand.type);
    }
    return types;
}

/// The rule of a large attention in pieces; null where it is not taken so.
base::Result<RulePointer> bindPieces(const Composite& composite, const BoundModel& model, NodeId id, RuledBody& whole)
{
    const std::optional<AttentionPieces> pieces = piecesOf(model, id);
    if (!pieces) {
        return RulePointer();
    }
    const std::vector<rewrite::BodyOperand> operands = operandsOf(model, id);
    std::vector<Piece> kinds;
    PiecewiseDecomposedRule::eachPiece(*pieces, [&kinds](const Piece& piece) {
        const bool isKnown = std::ranges::any_of(
            kinds, [&](const Piece& one) { return one.heads == piece.heads && one.rows == piece.rows; });
        if (!isKnown) {
            kinds.push_back(piece);
        }
    });
    PiecewiseDecomposedRule::Bodies bodies;
    for (const Piece& piece : kinds) {
        std::vector<rewrite::BodyOperand> own = operands;
        for (std::size_t slot = 0; slot < own.size(); ++slot) {
            if (own[slot].isGiven) { // the shape alone
                const Tensor stand = ops::shapeOnly(own[slot].type.dtype, own[slot].type.shape);
                own[slot].type.shape = partOf(*pieces, piece, slot, stand).shape();
                own[slot].constant = isOneForAll(*pieces, stand.shape()) ? own[slot].constant : Tensor();
            }
        }
        RETRO_TRY(rewrite::FunctionBody body, rewrite::functionBody(model.graph().node(id), own));
        RETRO_TRY(RuledBody ruled, ruledBody(composite, model, typesOf(own), std::move(body), nullptr));
        bodies[{piece.heads, piece.rows}] = std::make_shared<const BoundDecomposedRule>(
            ruled.model, std::move(ruled.operands), std::move(ruled.rules), std::move(ruled.results));
    }
    return RulePointer(std::make_shared<const PiecewiseDecomposedRule>(std::move(whole), *pieces, std::move(bodies)));
}

base::Result<RulePointer> bindBody(const Composite& composite, const BoundModel& model, NodeId id,
                                   rewrite::FunctionBody body, bool isOwnBody, EntryUse* use)
{
    std::vector<ops::TensorType> types;
    for (const ValueId input : model.graph().node(id).inputs) {
        types.push_back(input.isValid() ? model.typeOf(input) : ops::TensorType());
    }
    RETRO_TRY(RuledBody whole, ruledBody(composite, model, types, std::move(body), use));
    if (!isOwnBody) {
        const tensor::Shape& made = whole.model->typeOf(whole.model->graph().outputs()[0]).shape;
        const tensor::Shape& wanted = model.typeOf(model.graph().node(id).outputs[0]).shape;
        if (made != wanted) {
            return base::inputError(fmt::format("its members make a value of {}, where it makes one of {}",
                                                tensor::toText(made), tensor::toText(wanted)));
        }
    }
    if (isOwnBody) {
        RETRO_TRY(RulePointer pieces, bindPieces(composite, model, id, whole));
        if (pieces) {
            return pieces;
        }
    }
    return RulePointer(std::make_shared<const BoundDecomposedRule>(whole.model, std::move(whole.operands),
                                                                   std::move(whole.rules), std::move(whole.results)));
}

} // namespace

base::Result<rewrite::FunctionBody> bodyOf(const BoundModel& model, NodeId id)
{
    const std::vector<rewrite::BodyOperand> operands = operandsOf(model, id);
    RETRO_CHECK(rewrite::checkConstantWeights(model.graph().node(id), operands));
    return rewrite::functionBody(model.graph().node(id), operands);
}

bool isSameRule(const Rule& a, const Rule& b)
{
    const auto* boundA = dynamic_cast<const BoundDecomposedRule*>(&a);
    const auto* boundB = dynamic_cast<const BoundDecomposedRule*>(&b);
    if (boundA != nullptr && boundB != nullptr) {
        return boundA->hasRulesOf(*boundB);
    }
    return boundA == nullptr && boundB == nullptr && a.name() == b.name() && a.parameters() == b.parameters();
}

const RuleAssignment* rulesOfParts(const Rule& rule)
{
    const auto* bound = dynamic_cast<const BoundDecomposedRule*>(&rule);
    return bound == nullptr ? nullptr : &bound->rules();
}

bool isDecomposed(const Rule& rule) { return rule.name() == "decomposed"; }

base::Result<RulePointer> bindDecomposed(const Composite& composite, const BoundModel& model, NodeId id,
                                         const graph::Graph* members, EntryUse* use)
{
    RETRO_TRY(rewrite::FunctionBody body, members != nullptr ? bodyOfMembers(model, id, *members) : bodyOf(model, id));
    return bindBody(composite, model, id, std::move(body), members == nullptr, use);
}

RulePointer decomposedRule() { return std::make_shared<const DecomposedRule>(); }

extern const RuleDeclaration kDecomposedRule{"decomposed",
                                             [](ParameterReader&) { return decomposedRule(); },
                                             [](const FormulaWords&) { return std::string("the rules of its parts"); },
                                             "composed operators, and what a rewrite fused",
                                             {},
                                             {.isOfGradients = true, .isForOneLayer = true}};

} // namespace retro::lrp
