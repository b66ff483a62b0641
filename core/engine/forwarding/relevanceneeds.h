// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/forwarding/forwardneeds.h"
#include "core/engine/plan/passsubject.h"

namespace retro::engine
{

/// What the rules of a relevance pass read of the forward pass, each as Rule::reads() says it for its node. Of a pass
/// by the composite `gradient` these are the values of GradientNeeds.
class RelevanceNeeds final : public ForwardNeeds
{
public:
    /// `subject` is a relevance pass.
    explicit RelevanceNeeds(const PassSubject& subject);
};

} // namespace retro::engine
