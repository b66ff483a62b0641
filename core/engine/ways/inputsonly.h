// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/explain/inputrelevance.h"
#include "core/engine/ways/program.h"

namespace retro::engine
{

/// A program for the relevance of the inputs alone: every value, forward or relevance, lives until its last reader.
class InputsOnlyWay final : public Way
{
public:
    static constexpr WayGives kGives{false, false, false, false};

    /// `known` has a runner.
    explicit InputsOnlyWay(KnownCourse known) : m_known(std::move(known)), m_inputs(*m_known.runner) {}

    [[nodiscard]] WayGives gives() const override { return kGives; }
    base::Result<execute::ForwardResult> forward(Pass& pass) override;
    base::Result<void> run(Pass& pass) override;

private:
    KnownCourse m_known;
    InputPass m_inputs;
};

} // namespace retro::engine
