// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/gui/facts/diagnosefacts.h"
#include "views/diagnose/findingevidence.h"

namespace retro::app
{

/// What shows a finding: the chart that its check drew up, else, from the ledger and the relevance of its run (null:
/// there is none), Σ|R| along the way where relevance grows or ends, what became of it at a node that loses some, the
/// heatmap where it is about a part of a picture. A finding that none of these shows has its number alone.
[[nodiscard]] views::FindingEvidence evidenceOf(const diagnosis::Finding& finding, const trace::Run* run);

/// Explains with `question` in place of what is on screen, takes nothing of it, and says what came out beside what is
/// there: heatmap, sums, how relevance grows, and whether the finding is still there. One explanation. Errors: as an
/// explanation; Usage (a recorded run has no model to ask); Cancelled.
[[nodiscard]] base::Result<views::FindingPreview> previewOf(DiagnoseRequest request, const engine::Question& question,
                                                            const diagnosis::Finding& finding,
                                                            const std::stop_token& stop);

} // namespace retro::app
