// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/diagnosis/check.h"
#include "core/diagnosis/facts.h"
#include "core/diagnosis/finding.h"
#include "core/diagnosis/headline.h"

#include <nlohmann/json_fwd.hpp>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace retro::diagnosis
{

/// Which checks run.
struct Options
{
    std::vector<std::string> families; ///< none: all
    std::vector<std::string> checks;   ///< by id; none: all of the families
    bool isDeep = false;               ///< also those that make further passes
    bool isCheapAlone = false;         ///< of these only those that go along with every explanation run
};

/// What became of one check.
struct CheckRecord
{
    const Check* check = nullptr;
    bool isRun = false;
    std::string why;       ///< it was not run
    std::size_t sites = 0; ///< places that it looked at
    double largest = 0;    ///< of its statistic, beyond the threshold or not
    std::string largestAt;
    double seconds = 0;
};

/// What is wrong, worst first, and what every check measured.
struct Diagnosis
{
    std::string model;
    std::string run;
    std::vector<HeadFact> head; ///< before any finding
    std::vector<Finding> findings;
    std::vector<CheckRecord> checks;
    std::optional<base::Error> failure; ///< the model did not run, or not to its end
    bool hasReference = false;
    std::shared_ptr<const Population> folder; ///< null: there is one input

    [[nodiscard]] std::size_t checksRun() const;
    /// Something of `head` is unusual: it cannot be said that nothing is, though no check found anything.
    [[nodiscard]] bool hasUnusual() const;
    /// Findings of that level, without those that follow from others.
    [[nodiscard]] std::size_t count(Level level) const;
    /// The first one, where it is an error or a warning of such a score that every explanation says it; null else.
    [[nodiscard]] const Finding* severe() const;
    /// What every explanation says: that one, and that relevance explodes, wherever that stands.
    [[nodiscard]] std::vector<const Finding*> said() const;
};

/// Runs the checks. Errors: Usage (no such family or check), Cancelled.
[[nodiscard]] base::Result<Diagnosis> diagnose(const Facts& facts, const Options& options = {});

/// For people: the headline, then findings worst first, at most `most` (0: all), with the line of counts; with 0 also
/// the checks that were not run. docs/cli.md.
[[nodiscard]] std::vector<std::string> textOf(const Diagnosis& diagnosis, std::size_t most = 3);
/// `retrograde-diagnosis/1` (docs/cli.md).
[[nodiscard]] nlohmann::ordered_json jsonOf(const Diagnosis& diagnosis);
/// Findings alone, as in jsonOf().
[[nodiscard]] nlohmann::ordered_json findingsJson(const std::vector<Finding>& findings);
/// Statistic, threshold and healthy range of a check, for people.
[[nodiscard]] std::vector<std::string> explanationOf(const Check& check);

} // namespace retro::diagnosis
