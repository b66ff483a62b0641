// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/plan/passsubject.h"
#include "core/runtime/reversehalf.h"
#include "core/tape/gradientgraph/emitrule.h"

#include <vector>

namespace retro::engine
{

/// Reverse rules as nodes of the standard, for one operand of a node at a time.
class WrittenParts
{
public:
    explicit WrittenParts(const PassSubject& subject);

    /// What a rule is given for the slots of a group, but for values and gradients.
    [[nodiscard]] tape::EmitValues valuesOf(base::NodeId reader, const std::vector<runtime::Part>& group) const;
    /// Writes the rule of `reader` with those values and adds the parts of the wanted slots. Invalid where nothing
    /// arrives or nothing is wanted. Errors (Input), by node: an operator without such a rule, or one that cannot be
    /// applied.
    [[nodiscard]] base::Result<graph::ValueId> emit(tape::Emitter& emitter, base::NodeId reader,
                                                    tape::EmitValues values) const;
    /// Operands and results that the rule of `reader` reads, as it is written, for its part of `operand`.
    [[nodiscard]] base::Result<ops::Reads> reads(base::NodeId reader, base::ValueId operand) const;

private:
    PassSubject m_subject;
    std::vector<tensor::DType> m_types; ///< by value, as another runtime has them
};

} // namespace retro::engine
