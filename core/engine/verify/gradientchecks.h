// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/explain/explain.h"
#include "core/engine/verify/property.h"
#include "core/tape/model/modeltape.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace retro::engine
{

/// Relative errors up to which a reverse rule agrees with a central difference, and up to which it is in doubt.
inline constexpr double kGoodGradient = 1e-6;
inline constexpr double kPoorGradient = 1e-3;

/// What a comparison of a reverse rule with a difference says.
enum class GradientState : std::uint8_t {
    Checked,
    NotFinite, ///< the rule gives what is not finite while the difference is: wrong
    Kink,
    Singular,
    NotChecked
};

/// "checked", "rule not finite", "kink", "singular", "not checked".
[[nodiscard]] std::string_view nameOf(GradientState state);

/// A node's reverse rule against a central difference, along directions drawn by chance.
struct NodeGradient
{
    tape::Id id = 0;
    std::string node;
    std::string op;
    /// |⟨upstream, Δ⟩ − ⟨direction, parts⟩| over the size of what was added, infinite where the rule gives what is not
    /// finite; nothing where it cannot be checked.
    std::optional<double> error = {};
    bool isKink = false;       ///< forward and backward differences disagree: the error says nothing
    bool isSingular = false;   ///< the difference itself is not finite: there is no slope to compare with
    std::string note = {};     ///< why it cannot be checked
    std::string smallest = {}; ///< of the worst node, where its rule is wrong: the fewest elements that show it

    [[nodiscard]] GradientState state() const;
};

/// P8: every tracked node of a tape in double, by itself: its operands are moved a little, its value is computed again.
/// For the worst node beyond kPoorGradient, elements of what arrives and of the directions are then taken away, by
/// halves, as long as the rule stays wrong. Errors: Cancelled, what an operator or a rule refuses.
[[nodiscard]] base::Result<std::vector<NodeGradient>> checkNodes(const tape::ModelTape& made, std::uint64_t seed,
                                                                 const std::stop_token& stop,
                                                                 const StageProgress& progress = {});
/// P8 as a property: violated by the worst node beyond kPoorGradient that has no kink and is not singular.
[[nodiscard]] PropertyResult judgeNodes(const std::vector<NodeGradient>& nodes);

/// The gradient of the whole model against a central difference along one direction of its floating inputs, with the
/// best of several steps. Not applicable where a kink lies in every step, where the score is not finite beside the
/// input, or where no input is floating. Errors as checkNodes().
[[nodiscard]] base::Result<PropertyResult> checkWhole(const tape::ModelTape& made, tape::Id target,
                                                      const tensor::Tensor& start, std::uint64_t seed,
                                                      const std::stop_token& stop);

/// How far float is from double at a value.
struct UlpDistance
{
    std::string value;
    std::string node;           ///< that makes it
    std::uint64_t most = 0;     ///< floats between the float value and the double value rounded to float
    double relative = 0;        ///< largest difference over the largest double value, of what is finite in both
    std::int64_t overflows = 0; ///< elements that are infinite or no number in one of the two and another in the other
};

/// Forward values of a float tape against those of a double tape of the same model, by value name, floating values that
/// nodes make, in the order of the float tape.
[[nodiscard]] std::vector<UlpDistance> ulpDistances(const tape::ModelTape& narrow, const tape::ModelTape& wide);

} // namespace retro::engine
