// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/trace/gradientrun.h"
#include "core/trace/ledgersummary.h"
#include "core/trace/runstate.h"

namespace retro::app
{

/// How much relevance there is at a step, and whether the books explain the rest.
struct RelevanceNow
{
    bool isAudited = false;   ///< there are books, and they speak of something that is conserved
    double sum = 0;           ///< arrived at inputs or on its way
    double unexplained = 0;   ///< what the books cannot account for so far
    bool isExplained = false; ///< unexplained is rounding: at most 1e-4 of what started
};

/// Relevance at any step of a run from its ledger, summed once. Plain value.
class RunFigures
{
public:
    RunFigures() = default;
    explicit RunFigures(const trace::Run& run)
        : m_summary(trace::summarise(run)), m_isConserved(!trace::carriesGradient(run))
    {}
    [[nodiscard]] RelevanceNow at(const trace::RunState& state) const;

private:
    trace::LedgerSummary m_summary;
    bool m_isConserved = false; ///< a gradient is not
};

} // namespace retro::app
