// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/diagnosis/diagnosis.h"
#include "core/graph/graph.h"
#include "views/diagnose/findingevidence.h"

#include <QString>

#include <functional>
#include <memory>
#include <set>

namespace retro::views
{

using DiagnosisPointer = std::shared_ptr<const diagnosis::Diagnosis>;

/// What the window can do about a finding.
struct FindingOffer
{
    QString text = {}; ///< of a button: "Use epsilon here"; empty: nothing can be carried out here
    QString tip = {};
    bool canPreview = false; ///< it can be tried without being taken
};

/// Says what can be done about a finding.
using FindingOffers = std::function<FindingOffer(const diagnosis::Finding&)>;

/// Everything that the pane shows. Plain values, the same for every pane of the window.
struct DiagnosisState
{
    DiagnosisPointer diagnosis = {};                ///< null: nothing was checked yet
    std::shared_ptr<const graph::Graph> graph = {}; ///< that its places are nodes of; may be null
    std::set<std::string> setAside = {};            ///< keyOf() of findings that are no problem here
    bool isStale = false;                           ///< it is of another run than the next one: a job is under way
    QString stage = {};                             ///< what is being checked at this moment; empty: nothing
    QString refusal = {};                           ///< why nothing could be checked; empty: it could
    QString change = {};                            ///< what the last change did, in a sentence
    bool canTakeBack = false;                       ///< that change can be taken back
    QString reference = {};                         ///< name of what is compared with; empty: nothing
    QString folder = {};                            ///< name of that whose inputs are looked at, too; empty: none
    bool operator==(const DiagnosisState&) const = default;
};

/// What is drawn of a finding, from the run on screen.
using FindingDrawings = std::function<FindingEvidence(const diagnosis::Finding&)>;

/// "flow.bias /conv2/Conv": a check and a place, as a card keeps what is no problem.
[[nodiscard]] std::string keyOf(const diagnosis::Finding& finding);

} // namespace retro::views
