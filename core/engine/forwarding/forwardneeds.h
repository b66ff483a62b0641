// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/execute/boundmodel.h"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace retro::engine
{

/// How much of a forward value a rule looks at.
enum class ReadDetail : std::uint8_t {
    Whole,
    Signs,  ///< which elements are above zero: ReLU, by its result
    Winners ///< which elements win the windows of a maximum pooling
};

/// A rule that reads a forward value.
struct RuleRead
{
    base::NodeId node;
    bool isOutput = false; ///< the value is a result of the node, not an operand
    ReadDetail detail = ReadDetail::Whole;
};

/// What the rules of a pass from targets down to the inputs, gradient or relevance, read of the forward pass.
class ForwardNeeds
{
public:
    [[nodiscard]] const execute::BoundModel& model() const { return *m_model; }
    [[nodiscard]] const std::shared_ptr<const execute::BoundModel>& sharedModel() const { return m_model; }
    /// The values that the pass starts at, each once.
    [[nodiscard]] const std::vector<base::ValueId>& targets() const { return m_targets; }
    /// Rules that read a value.
    [[nodiscard]] std::span<const RuleRead> readsOf(base::ValueId value) const { return m_reads[value.index()]; }
    /// True for results of operators that some rule reads: what has to be forwarded in some form.
    [[nodiscard]] bool isForwarded(base::ValueId value) const;

protected:
    ForwardNeeds(std::shared_ptr<const execute::BoundModel> model, std::vector<base::ValueId> targets);
    ~ForwardNeeds() = default;
    ForwardNeeds(const ForwardNeeds&) = default;
    ForwardNeeds& operator=(const ForwardNeeds&) = default;
    ForwardNeeds(ForwardNeeds&&) = default;
    ForwardNeeds& operator=(ForwardNeeds&&) = default;

    /// The rule of a node reads these; `isGradient`: it is the derivative, which looks at signs or winners alone where
    /// the structure allows it.
    void addReads(base::NodeId node, const ops::Reads& reads, bool isGradient);

private:
    [[nodiscard]] ReadDetail detailOf(base::NodeId node, bool isOutput) const;

    std::shared_ptr<const execute::BoundModel> m_model;
    std::vector<base::ValueId> m_targets;
    std::vector<std::vector<RuleRead>> m_reads; ///< per value
};

} // namespace retro::engine
