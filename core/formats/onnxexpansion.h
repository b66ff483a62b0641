// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <unordered_map>

namespace retro::onnxschema
{
class FunctionProto;
class NodeProto;
} // namespace retro::onnxschema

namespace retro::formats
{

/// Most nodes, and most memory in bytes for them, that functions may make when they are written out. A file of a few
/// kilobytes can ask for any number: functions that call the next one twice, long names, large constants.
inline constexpr std::uint64_t kMaxExpandedNodes = 75'000;
inline constexpr std::uint64_t kMaxExpandedBytes = 256ULL << 20U;

/// What writing out one call of a function makes, at most, counted without making it. Sums that do not fit stay at the
/// largest number.
struct Expansion
{
    std::uint64_t nodes = 0;
    std::uint64_t bytes = 0;      ///< of nodes, attributes and names, without what a call puts in front of names
    std::uint64_t names = 0;      ///< texts that a call makes longer, or replaces by the names of its values
    std::uint64_t references = 0; ///< attributes that a call fills in
};

/// Counts what functions make, each function once.
class ExpansionCounter
{
public:
    /// The function that a node calls; nullptr when it calls none.
    using FunctionOf = std::function<const onnxschema::FunctionProto*(const onnxschema::NodeProto&)>;

    explicit ExpansionCounter(FunctionOf functionOf) : m_functionOf(std::move(functionOf)) {}

    /// What one call makes. Functions that call themselves count once; who writes them out finds them.
    [[nodiscard]] Expansion ofCall(const onnxschema::NodeProto& call, const onnxschema::FunctionProto& function);

private:
    void count(const onnxschema::FunctionProto& function);

    FunctionOf m_functionOf;
    std::unordered_map<const onnxschema::FunctionProto*, Expansion> m_done;
};

/// The sum of all calls that a model's graphs make. Errors (Input, without a place) once it is beyond the limits above.
class ExpansionBudget
{
public:
    /// Adds what one call expands to.
    [[nodiscard]] base::Result<void> take(const Expansion& expansion);

private:
    std::uint64_t m_nodes = 0;
    std::uint64_t m_bytes = 0;
};

} // namespace retro::formats
