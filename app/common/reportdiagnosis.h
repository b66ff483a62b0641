// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/diagnosis/diagnosis.h"

#include <QString>

#include <memory>
#include <set>
#include <string>

namespace retro::app
{

class ReportPage;

/// What a report says of a diagnosis.
struct ReportedDiagnosis
{
    std::shared_ptr<const diagnosis::Diagnosis> diagnosis = {}; ///< null: the report has no chapter of it
    /// Findings that somebody said are no problem: "flow.bias /conv2/Conv".
    std::set<std::string> notAProblem = {};
};

/// The chapter: findings worst first with their sentence, what it means and what to do, also those that are no problem,
/// which are marked; then the statistic of every check with its limit, and checks that did not run with the reason.
void addDiagnosis(ReportPage& page, const ReportedDiagnosis& reported);
/// A sentence for the heatmaps of a run with an error; empty where there is none.
[[nodiscard]] QString warningForHeatmap(const ReportedDiagnosis& reported);

} // namespace retro::app
