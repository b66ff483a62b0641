// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/rewrite/recognise/probe.h"

#include <map>
#include <unordered_map>

namespace retro::rewrite
{

/// The rewrite that a known function belongs to.
enum class FunctionGroup : std::uint8_t { LayerNorm, RmsNorm, Activation, Softmax, Norm };

/// What a cone is.
struct Recognised
{
    KnownOperator known;
    /// Chains whose bits are those of the operator's kernel, which computes them in one walk (Cone::operators(), by
    /// commas); others are computed by their nodes.
    std::string_view sameBits = {};
    std::vector<ValueId> parameters = {}; ///< per parameter of `known`: a constant of the model that is it; or invalid
};

/// The number of a constant of the cone, of its inverse, or 1, where `number` is it but for rounding; else `number`.
[[nodiscard]] double asWritten(const Cone& cone, double number);
/// What the stored types of the cone's constants can tell apart, at least 1e-6.
[[nodiscard]] double toleranceOf(const Cone& cone);

/// Knows functions of elements: an activation of its operand. Answers for cones of equal keys are looked up.
class ElementFunctions
{
public:
    /// Nothing where it is none. An operator that it is already counts as well.
    [[nodiscard]] const std::optional<Recognised>& find(const Cone& cone);

private:
    [[nodiscard]] std::optional<Recognised> tried(const Cone& cone);
    const tensor::Tensor& valuesOf(const graph::Graph& graph, const KnownOperator& known);

    std::map<std::uint64_t, std::optional<Recognised>> m_answers;
    std::map<std::string_view, tensor::Tensor> m_values; // of operators without parameters, at the points
};

/// Knows functions of rows that belong to one group: Softmax, LogSoftmax, or a normalisation.
class RowFunctions
{
public:
    explicit RowFunctions(FunctionGroup group) : m_group(group) {}

    [[nodiscard]] FunctionGroup group() const { return m_group; }
    /// False where the first two cones of its form were none: constants of several numbers rarely decide that.
    [[nodiscard]] bool mayKnow(const Cone& cone) const;
    /// Nothing where it is none.
    [[nodiscard]] std::optional<Recognised> find(const Cone& cone);

private:
    std::unordered_map<std::uint64_t, int> m_failures; ///< cones of a form that were none; −1: one was a function
    FunctionGroup m_group;
};

/// True when the result has the shape of the leaf: no constant broadcasts it to another.
[[nodiscard]] bool keepsShape(const Cone& cone);

} // namespace retro::rewrite
