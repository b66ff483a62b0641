// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/diagnosis.h"

#include "core/base/cancel.h"
#include "core/base/editdistance.h"
#include "core/diagnosis/population.h"
#include "core/diagnosis/ranking.h"
#include "core/diagnosis/registry.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <iterator>

namespace retro::diagnosis
{

namespace
{

using base::Result;

/// From which score on a warning is said with every explanation (section 6).
constexpr double kSevereScore = 2.5;

/// Said with every explanation, whatever else was found: its numbers are of no use.
constexpr std::string_view kAlwaysSaid = "flow.explodes";

base::Result<void> expectKnown(const Options& options)
{
    const std::vector<std::string_view> known = families();
    for (const std::string& family : options.families) {
        if (std::ranges::find(known, family) == known.end()) {
            return base::usageError(fmt::format("there is no family \"{}\" of checks; known are {}{}", family,
                                                fmt::join(known, ", "), base::guessText(family, known)),
                                    "--only");
        }
    }
    for (const std::string& id : options.checks) {
        if (findCheck(id) == nullptr) {
            std::vector<std::string_view> ids;
            std::ranges::transform(checks(), std::back_inserter(ids), [](const Check* check) { return check->id; });
            return base::usageError(fmt::format("there is no check \"{}\"; known are {}{}", id, fmt::join(ids, ", "),
                                                base::guessText(id, ids)),
                                    "--check");
        }
    }
    return {};
}

bool isChosen(const Check& check, const Options& options)
{
    const auto names = [](const std::vector<std::string>& list, std::string_view name) {
        return std::ranges::find(list, name) != list.end();
    };
    if (!options.checks.empty() && !names(options.checks, check.id)) {
        return false;
    }
    return options.families.empty() || names(options.families, familyOf(check.id));
}

/// Weights that checks read along with an explanation, which of more of them would take a third of its time.
constexpr std::uint64_t kMostWeightBytes = 256ULL << 20;

std::string withReason(std::string text, const Facts& facts)
{
    return facts.failure() ? fmt::format("{}: {}", text, facts.failure()->message) : text;
}

/// What is not given or not asked for; empty where all is there that can be without a pass.
std::string missingSource(Need needs, bool isCheap, const Facts& facts, const Options& options)
{
    if (options.isCheapAlone && !isCheap) {
        return "it takes longer than the checks beside an explanation";
    }
    if (has(needs, Need::Evaluation) && !options.isDeep) {
        return "it makes further passes: --deep";
    }
    if (has(needs, Need::Reference) && facts.reference() == nullptr) {
        return "nothing to compare with: --against";
    }
    if (has(needs, Need::Card) && facts.card() == nullptr) {
        return "the model has no card";
    }
    if (has(needs, Need::Inputs) && facts.inputs().empty()) {
        return "no input is given";
    }
    if (has(needs, Need::Model) && facts.model() == nullptr) {
        return std::string(kNoModel);
    }
    const Population* population = facts.sources().population.get();
    if (has(needs, Need::Folder | Need::Labels) && population == nullptr) {
        return "there is one input: give a folder";
    }
    if (has(needs, Need::Labels) && !population->hasTruth()) {
        return population->why.empty() ? "nobody says which class each input has: --labels" : population->why;
    }
    if (has(needs, Need::Weights) && options.isCheapAlone && facts.model()->weightBytes() > kMostWeightBytes) {
        return "the weights are many; diagnose reads them all";
    }
    return {};
}

/// What the pass has not; empty where all is there.
std::string missingOfPass(Need needs, const Facts& facts)
{
    const bool needsPass = has(needs, Need::Pass | Need::Forward | Need::Relevance | Need::Conserved);
    if (needsPass && facts.pass() == nullptr) {
        return withReason("the model did not run", facts);
    }
    if (has(needs, Need::Forward) && !facts.pass()->hasForward) {
        return withReason("there are no forward values", facts);
    }
    if (has(needs, Need::Relevance | Need::Conserved) && !facts.pass()->hasRelevance) {
        return withReason("there is no relevance", facts);
    }
    if (has(needs, Need::Conserved) && facts.pass()->isGradient) {
        return "a gradient is not conserved";
    }
    return {};
}

/// Why a check cannot run; empty when it can.
std::string missing(const Check& check, const Facts& facts, const Options& options)
{
    std::string source = missingSource(check.needs, check.isCheap, facts, options);
    return source.empty() ? missingOfPass(check.needs, facts) : source;
}

Result<CheckRecord> runOne(const Check& check, const Facts& facts, const Options& options,
                           std::vector<Finding>& findings)
{
    RETRO_CHECK(base::checkStop(facts.stop()));
    CheckRecord record;
    record.check = &check;
    record.why = missing(check, facts, options);
    if (!record.why.empty()) {
        return record;
    }
    const auto before = std::chrono::steady_clock::now();
    Probe probe(check.id);
    check.run(facts, probe);
    RETRO_CHECK(base::checkStop(facts.stop()));
    record.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - before).count();
    record.why = probe.why();
    record.isRun = record.why.empty();
    record.sites = probe.sites();
    record.largest = probe.largest();
    record.largestAt = probe.largestAt();
    std::ranges::move(probe.findings(), std::back_inserter(findings));
    return record;
}

} // namespace

std::size_t Diagnosis::checksRun() const
{
    return static_cast<std::size_t>(std::ranges::count_if(checks, &CheckRecord::isRun));
}

bool Diagnosis::hasUnusual() const { return std::ranges::any_of(head, &HeadFact::isUnusual); }

std::size_t Diagnosis::count(Level level) const
{
    return static_cast<std::size_t>(std::ranges::count(findings, level, &Finding::level));
}

const Finding* Diagnosis::severe() const
{
    if (findings.empty()) {
        return nullptr;
    }
    const Finding& first = findings.front();
    const bool isSaid = first.level == Level::Error || (first.level == Level::Warning && first.score() >= kSevereScore);
    return isSaid ? &first : nullptr;
}

std::vector<const Finding*> Diagnosis::said() const
{
    std::vector<const Finding*> said;
    if (const Finding* first = severe()) {
        said.push_back(first);
    }
    const auto isExplosion = [](const Finding& finding) {
        return finding.id == kAlwaysSaid && finding.level >= Level::Warning;
    };
    for (const Finding& finding : findings) {
        const auto below = std::ranges::find_if(finding.also, isExplosion);
        if (below != finding.also.end()) {
            said.push_back(&*below);
        } else if (isExplosion(finding) && &finding != severe()) {
            said.push_back(&finding);
        }
    }
    return said;
}

Result<Diagnosis> diagnose(const Facts& facts, const Options& options)
{
    RETRO_CHECK(expectKnown(options));
    Diagnosis diagnosis;
    diagnosis.model = facts.sources().modelName;
    diagnosis.run = facts.sources().runName;
    diagnosis.folder = facts.sources().population;
    diagnosis.hasReference = facts.reference() != nullptr;
    std::vector<Finding> findings;
    for (const Check* check : checks()) {
        if (isChosen(*check, options)) {
            RETRO_TRY(CheckRecord record, runOne(*check, facts, options, findings));
            diagnosis.checks.push_back(std::move(record));
        }
    }
    diagnosis.failure = facts.failure();
    diagnosis.head = options.families.empty() && options.checks.empty() ? headFactsOf(facts) : std::vector<HeadFact>();
    diagnosis.findings = ranked(facts, std::move(findings));
    return diagnosis;
}

} // namespace retro::diagnosis
