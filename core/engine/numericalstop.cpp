// SPDX-License-Identifier: Apache-2.0
#include "core/engine/numericalstop.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <optional>

namespace retro::engine
{

using base::NodeId;
using base::ValueId;
using tensor::Tensor;

namespace
{

constexpr const char* kAdvice = "choose another rule or a larger epsilon for the node, or go on with --go-on (and "
                                "--run FILE.retro) to look at what comes of it";

/// The first element of a tensor that is no finite number, and how many there are.
struct WrongElement
{
    std::int64_t index = 0;
    std::int64_t count = 0;
};

std::optional<WrongElement> findWrong(const Tensor& tensor)
{
    std::optional<WrongElement> wrong;
    for (std::int64_t i = 0; tensor.isValid() && tensor::isFloating(tensor.dtype()) && i < tensor.size(); ++i) {
        if (!std::isfinite(tensor.at(i))) {
            wrong = wrong ? WrongElement{wrong->index, wrong->count + 1} : WrongElement{i, 1};
        }
    }
    return wrong;
}

// "nan at [0, 3, 1] (2 of 64 elements are not finite)".
std::string textOf(const WrongElement& wrong, const Tensor& tensor)
{
    std::vector<std::int64_t> index(tensor.rank());
    std::int64_t rest = wrong.index;
    for (std::size_t axis = tensor.rank(); axis-- > 0;) {
        index[axis] = rest % tensor.shape()[axis];
        rest /= tensor.shape()[axis];
    }
    return fmt::format("{} at [{}] ({} of {} elements {} not finite)", tensor.at(wrong.index), fmt::join(index, ", "),
                       wrong.count, tensor.size(), wrong.count == 1 ? "is" : "are");
}

// The first of a node's operands that `valueOf` gives a wrong number for: its name and the number, with `before` it.
template <class ValueOf>
std::string wrongOperand(const graph::Graph& graph, NodeId node, const char* before, const ValueOf& valueOf)
{
    for (const ValueId operand : graph.node(node).inputs) {
        const Tensor tensor = operand.isValid() ? valueOf(operand) : Tensor();
        if (const std::optional<WrongElement> wrong = findWrong(tensor)) {
            return fmt::format("{} \"{}\" is {}", before, graph.value(operand).name, textOf(*wrong, tensor));
        }
    }
    return {};
}

base::Error errorAt(const FinishedRelevance& pass, NodeId node)
{
    const graph::Graph& graph = pass.saved.model().graph();
    std::string text = wrongOperand(graph, node, "the relevance of", [&](ValueId value) -> Tensor {
        return value.index() < pass.relevance.size() ? pass.relevance[value.index()] : Tensor();
    });
    if (text.empty()) {
        text = "the relevance that it hands on is not finite";
    }
    const std::string forward = wrongOperand(graph, node, "; in the forward pass already",
                                             [&](ValueId value) { return pass.saved.anyValue(value); });
    return {
        base::ErrorCode::Engine, fmt::format("{}{}; {}", text, forward, kAdvice),
        fmt::format("node \"{}\" ({}, rule {})", graph.labelOf(node), graph.opOf(node), pass.rules[node.index()].rule)};
}

} // namespace

base::Result<void> checkFinite(const FinishedRelevance& pass)
{
    for (const event::LedgerEntry& row : pass.ledger) {
        const NodeId node(row.node);
        if (node.index() >= pass.rules.size()) {
            continue;
        }
        if (!std::isfinite(row.magnitude)) {
            const graph::Graph& graph = pass.saved.model().graph();
            return base::Error{base::ErrorCode::Engine,
                               fmt::format("the relevance that arrives is not finite, and no rule made it so: it "
                                           "started that way, or a sum overflowed; {}",
                                           kAdvice),
                               fmt::format("node \"{}\" ({})", graph.labelOf(node), graph.opOf(node))};
        }
        if (!std::isfinite(row.handedOn)) {
            return errorAt(pass, node);
        }
    }
    return {};
}

base::Error withoutAdvice(base::Error error)
{
    const std::string advice = fmt::format("; {}", kAdvice);
    if (error.message.ends_with(advice)) {
        error.message.resize(error.message.size() - advice.size());
    }
    return error;
}

} // namespace retro::engine
