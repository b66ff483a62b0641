// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/checks/checks.h"

#include <fmt/format.h>

namespace retro::diagnosis
{

namespace
{

/// e of rule.unused (section 4.7).
constexpr double kUnusedEffect = 0.3;

/// Where the node that a matcher names is now, if a rewrite took it into another: "; /bn is in /conv now".
std::string placeNow(const Facts& facts, const std::string& sentence)
{
    const std::size_t begin = sentence.find("(name ");
    const std::size_t end = begin == std::string::npos ? begin : sentence.find_first_of(",)", begin);
    if (end == std::string::npos || facts.model() == nullptr) {
        return {};
    }
    const std::string glob = sentence.substr(begin + 6, end - begin - 6);
    const std::string stem = glob.substr(0, glob.find_first_of("*?"));
    for (const graph::Node& node : facts.model()->graph().nodes()) {
        const bool isMeant = stem == glob ? node.name == glob : node.name.starts_with(stem);
        const NodeId now = isMeant ? facts.nodeOfPass(node.name) : NodeId();
        if (now.isValid() && facts.graph().labelOf(now) != node.name) {
            return fmt::format("; {} is in {} now", node.name, facts.graph().labelOf(now));
        }
    }
    return {};
}

void findUnused(const Facts& facts, Probe& probe)
{
    for (const std::string& sentence : facts.pass()->unused) {
        probe.measured(sentence, 1);
        // "entries[2] (name /head/*, rule stop) matches no node …": who wrote it, and what is so.
        std::size_t end = sentence.find(" (");
        end = end == std::string::npos ? sentence.find(" changes") : end;
        Finding& finding = probe.warning(2, kUnusedEffect, {PlaceKind::Entry, sentence.substr(0, end), {}, {}});
        finding.what = end == std::string::npos ? sentence : sentence.substr(end + 1);
        finding.what += placeNow(facts, sentence);
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
