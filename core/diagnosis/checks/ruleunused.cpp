// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/checks/checks.h"

namespace retro::diagnosis
{

namespace
{

/// e of rule.unused (section 4.7).
constexpr double kUnusedEffect = 0.3;

void findUnused(const Facts& facts, Probe& probe)
{
    for (const std::string& sentence : facts.pass()->unused) {
        probe.measured(sentence, 1);
        // "entries[2] (name /head/*, rule stop) matches no node …": who wrote it, and what is so.
        std::size_t end = sentence.find(" (");
        end = end == std::string::npos ? sentence.find(" changes") : end;
        Finding& finding = probe.warning(2, kUnusedEffect, {PlaceKind::Entry, sentence.substr(0, end), {}, {}});
        finding.what = end == std::string::npos ? sentence : sentence.substr(end + 1);
        finding.means = "The explanation is the same without it.";
        finding.remedy = "Look at the name in it: explain --rules lists every node with its rule";
        finding.numbers = {{"entries", 1}};
        finding.action = {"edit entry", {{"entry", finding.place.name}}, {}};
    }
}

} // namespace

const Check ruleUnused{
    "rule.unused", "entries and options that change nothing (1: there is one)", 0, "0", Need::Relevance, true,
    findUnused};

} // namespace retro::diagnosis
