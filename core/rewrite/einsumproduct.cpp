// SPDX-License-Identifier: Apache-2.0
#include "core/rewrite/einsumproduct.h"

#include "core/graph/attributes.h"

#include <algorithm>
#include <array>

namespace retro::rewrite
{

using graph::Node;

namespace
{

/// "bqhd,bkhd->bhqk" in three; letters only, none twice within one.
struct Subscripts
{
    std::array<std::string, 2> operands;
    std::string result;
};

bool isPlain(const std::string& letters, std::size_t rank)
{
    std::string sorted = letters;
    std::sort(sorted.begin(), sorted.end());
    const bool isUnique = std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end();
    return letters.size() == rank && isUnique && letters.find_first_of(".,>-") == std::string::npos;
}

std::optional<Subscripts> subscriptsOf(const Node& einsum)
{
    std::string equation = attributeOr<std::string>(einsum, "equation", {});
    std::erase(equation, ' ');
    const std::size_t comma = equation.find(',');
    const std::size_t arrow = equation.find("->");
    if (einsum.inputs.size() != 2 || comma == std::string::npos || arrow == std::string::npos || arrow < comma) {
        return std::nullopt;
    }
    Subscripts own{{equation.substr(0, comma), equation.substr(comma + 1, arrow - comma - 1)},
                   equation.substr(arrow + 2)};
    const std::size_t rank = own.result.size();
    const bool isProduct = (rank == 3 || rank == 4) && isPlain(own.operands[0], rank) &&
                           isPlain(own.operands[1], rank) && isPlain(own.result, rank);
    return isProduct ? std::optional(std::move(own)) : std::nullopt;
}

/// Where each letter of `wanted` stands in `letters`; nothing when they are not the same letters.
std::optional<AxisOrder> orderOf(const std::string& letters, const std::string& wanted)
{
    AxisOrder order;
    for (const char letter : wanted) {
        const std::size_t at = letters.find(letter);
        if (at == std::string::npos) {
            return std::nullopt;
        }
        order.push_back(static_cast<std::int64_t>(at));
    }
    return order.size() == letters.size() ? std::optional(std::move(order)) : std::nullopt;
}

/// The first letter that `others` has not; 0 when there is none.
char letterBeside(const std::string& letters, const std::string& others)
{
    const std::size_t at = letters.find_first_not_of(others);
    return at == std::string::npos ? '\0' : letters[at];
}

ValueId turned(Draft& draft, const Node& like, ValueId value, const AxisOrder& order, const char* what,
               std::vector<std::string>& added)
{
    if (isInOrder(order)) {
        return value;
    }
    Node transpose;
    transpose.op = "Transpose";
    transpose.name = like.name + what;
    transpose.scope = like.scope;
    transpose.opset = like.opset;
    transpose.inputs = {value};
    transpose.attributes["perm"] = order;
    const ValueId result = draft.addResult(draft.value(value).name + what, draft.value(value).dtype);
    transpose.outputs = {result};
    added.push_back(transpose.name);
    draft.addNode(std::move(transpose));
    return result;
}

} // namespace

bool isInOrder(const AxisOrder& order) { return std::is_sorted(order.begin(), order.end()); }

std::optional<EinsumScores> einsumScores(const Node& einsum)
{
    const std::optional<Subscripts> own = subscriptsOf(einsum);
    if (!own) {
        return std::nullopt;
    }
    const std::string batch = own->result.substr(0, own->result.size() - 2);
    const char query = own->result[own->result.size() - 2];
    const char key = own->result.back();
    EinsumScores scores;
    scores.querySlot = own->operands[0].find(query) == std::string::npos ? 1 : 0;
    const std::string& left = own->operands.at(scores.querySlot);
    const std::string& right = own->operands.at(1 - scores.querySlot);
    const char width = letterBeside(left, own->result);
    const auto queries = orderOf(left, batch + query + width);
    const auto keys = orderOf(right, batch + key + width);
    if (!queries || !keys) {
        return std::nullopt;
    }
    scores.queries = *queries;
    scores.keys = *keys;
    return scores;
}

std::optional<EinsumMix> einsumMix(const Node& einsum, std::size_t slot)
{
    const std::optional<Subscripts> own = subscriptsOf(einsum);
    if (!own) {
        return std::nullopt;
    }
    const std::string& probabilities = own->operands.at(slot);
    const std::string& other = own->operands.at(1 - slot);
    const std::string batch = probabilities.substr(0, probabilities.size() - 2);
    const char width = letterBeside(other, probabilities);
    const auto values = orderOf(other, batch + probabilities.back() + width);
    const auto result = orderOf(batch + probabilities[probabilities.size() - 2] + width, own->result);
    return values && result ? std::optional(EinsumMix{slot, *values, *result}) : std::nullopt;
}

std::vector<ValueId> moveAxesOutside(Draft& draft, NodeId einsum, const EinsumScores& scores,
                                     std::vector<std::string>& added)
{
    Node node = draft.node(einsum);
    const ValueId q = node.inputs[scores.querySlot];
    const ValueId k = node.inputs[1 - scores.querySlot];
    node.inputs = {turned(draft, node, q, scores.queries, "/queries", added),
                   turned(draft, node, k, scores.keys, "/keys", added)};
    node.attributes["equation"] = std::string(scores.queries.size() == 4 ? "abqd,abkd->abqk" : "aqd,akd->aqk");
    const std::vector<ValueId> operands = node.inputs;
    draft.replaceNode(einsum, std::move(node));
    return operands;
}

ValueId moveAxesOutside(Draft& draft, NodeId einsum, const EinsumMix& mix, std::vector<std::string>& added)
{
    Node node = draft.node(einsum);
    const ValueId values = turned(draft, node, node.inputs[1 - mix.slot], mix.values, "/values", added);
    node.inputs = {node.inputs[mix.slot], values};
    node.attributes["equation"] = std::string(mix.values.size() == 4 ? "abqk,abke->abqe" : "aqk,ake->aqe");
    if (isInOrder(mix.result)) {
        draft.replaceNode(einsum, std::move(node));
        return values;
    }
    const ValueId whole = node.outputs[0];
    node.outputs = {draft.addResult(draft.value(whole).name + "/by head", draft.value(whole).dtype)};
    Node transpose;
    transpose.op = "Transpose";
    transpose.name = node.name + "/result";
    transpose.scope = node.scope;
    transpose.opset = node.opset;
    transpose.inputs = node.outputs;
    transpose.outputs = {whole};
    transpose.attributes["perm"] = mix.result;
    added.push_back(transpose.name);
    draft.replaceNode(einsum, std::move(node));
    draft.addNode(std::move(transpose));
    return values;
}

} // namespace retro::rewrite
