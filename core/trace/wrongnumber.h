// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/trace/run.h"

#include <functional>
#include <optional>
#include <span>
#include <string>

namespace retro::trace
{

/// wrongElementOf() of the tensor of a value; empty also when nobody knows the tensor.
using WrongElementOf = std::function<std::string(ValueId)>;

/// Where a number stopped being finite, in words.
struct WrongNumber
{
    NodeId node;       ///< invalid for a value that no node of the graph stands for
    std::string where; ///< "node \"conv\" (Conv, rule z-plus)", "input \"x\""
    std::string text;  ///< which value, which number, at which index; without advice
};

/// A relevance pass, as far as the search for its first wrong number needs it.
struct PassNumbers
{
    const graph::Graph& graph;
    std::span<const NodeRule> rules;            ///< by NodeId
    std::span<const event::LedgerEntry> ledger; ///< in the order of the pass
    WrongElementOf relevance;                   ///< of the whole pass
    WrongElementOf forward;                     ///< of results, inputs and constants
};

/// The numbers of a run, as far as it kept them. The run must outlive them.
[[nodiscard]] PassNumbers numbersOf(const Run& run);

/// "nan at [0, 3, 1] (2 of 64 elements are not finite)" of the first element that is not finite; empty when all are, or
/// when the tensor is invalid.
[[nodiscard]] std::string wrongElementOf(const Tensor& tensor);

/// The first row of the ledger that a finite number did not come out of; null when there is none. Costs one look at
/// each row.
[[nodiscard]] const event::LedgerEntry* firstWrongRow(std::span<const event::LedgerEntry> ledger);

/// Where relevance stopped being finite: the first node in the order of the pass whose rule handed on such a number,
/// the value and the number, and where the forward pass had gone wrong before. Where it arrived like that, because it
/// started from a value that is not finite: where the forward pass went wrong. Nothing when all rows are finite.
[[nodiscard]] std::optional<WrongNumber> firstWrongNumber(const PassNumbers& pass);

/// What is wrong at one node of the pass, whether its rule made it or it arrived so.
[[nodiscard]] std::string wrongNumbersAt(const PassNumbers& pass, NodeId node);

/// Where the forward pass went wrong before `value`: of what it was computed from, the input, else the earliest node,
/// that gives a number that is not finite and gets finite ones; constant operands count as its own. Nothing when the
/// value is finite, or not known.
[[nodiscard]] std::optional<WrongNumber> originOf(const PassNumbers& pass, ValueId value);

} // namespace retro::trace
