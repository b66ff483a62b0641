// SPDX-License-Identifier: Apache-2.0
#include "core/diagnosis/diagnosis.h"

#include "core/base/counted.h"
#include "core/diagnosis/numbertext.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <sstream>

namespace retro::diagnosis
{

using base::counted;

namespace
{

constexpr std::size_t kIndent = 9;     // below the name of a place
constexpr std::size_t kMostLines = 10; // before the fold: findings are shown as long as they fit
constexpr std::size_t kMostLine = 110; // section 1; the first line of a finding may be longer, as names may be

std::size_t characters(const std::string& utf8)
{
    return static_cast<std::size_t>(
        std::ranges::count_if(utf8, [](char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U; }));
}

/// Words in lines of at most kMostLine characters behind an indent; an option stays whole.
void addWrapped(const std::string& text, std::size_t indented, std::vector<std::string>& lines)
{
    const std::string indent(indented, ' ');
    const std::size_t option = text.find(": --");
    std::string line;
    std::size_t width = 0;
    const auto add = [&](const std::string& word) {
        const std::size_t size = characters(word);
        if (!line.empty() && indented + width + 1 + size > kMostLine) {
            lines.push_back(indent + line);
            line.clear();
            width = 0;
        }
        width += size + (line.empty() ? 0 : 1);
        line += (line.empty() ? "" : " ") + word;
    };
    std::istringstream words(option == std::string::npos ? text : text.substr(0, option + 1));
    for (std::string word; words >> word;) {
        add(word);
    }
    if (option != std::string::npos) {
        add(text.substr(option + 2));
    }
    lines.push_back(indent + line);
}

void addFinding(const Finding& finding, bool isWhole, std::vector<std::string>& lines)
{
    lines.push_back(fmt::format("{:<{}}{}  {}  [{}]", nameOf(finding.level),
                                std::max(kIndent, nameOf(finding.level).size() + 2), finding.place.name, finding.what,
                                finding.id));
    if (const std::string meaning = finding.meaning(); !meaning.empty()) {
        addWrapped(meaning, kIndent, lines);
    }
    std::vector<std::string> also;
    for (const Finding& one : finding.also) {
        also.push_back(isWhole ? fmt::format("{} {} [{}]", one.place.name, one.what, one.id)
                               : fmt::format("{} [{}]", one.place.name, one.id));
    }
    if (!also.empty() && !isWhole) {
        constexpr std::size_t kMostAlso = 3;
        const std::size_t more = also.size() > kMostAlso ? also.size() - kMostAlso : 0;
        also.resize(also.size() - more);
        lines.push_back(fmt::format("{:{}}also: {}{}", "", kIndent, fmt::join(also, ", "),
                                    more > 0 ? fmt::format(" and {} more", more) : ""));
    }
    if (isWhole) {
        for (const std::string& one : also) {
            lines.push_back(fmt::format("{:{}}also: {}", "", kIndent, one));
        }
    }
}

/// "41 checks, 38 run, 3 not run".
std::string checksText(const Diagnosis& diagnosis)
{
    return fmt::format("{}, {} run, {} not run", counted(diagnosis.checks.size(), "check"), diagnosis.checksRun(),
                       diagnosis.checks.size() - diagnosis.checksRun());
}

std::string countsLine(const Diagnosis& diagnosis, bool isAll)
{
    std::vector<std::string> levels;
    for (const Level level : {Level::Error, Level::Difference, Level::Warning, Level::Note}) {
        if (const std::size_t number = diagnosis.count(level); number > 0) {
            levels.push_back(counted(number, nameOf(level)));
        }
    }
    const bool isSound =
        diagnosis.count(Level::Note) == diagnosis.findings.size() && !diagnosis.failure && !diagnosis.hasUnusual();
    return fmt::format("{}{} ({}); {}{}", isSound ? "Nothing wrong: " : "",
                       counted(diagnosis.findings.size(), "finding"), fmt::join(levels, ", "), checksText(diagnosis),
                       isAll ? "" : " (--all lists them)");
}

/// That the model does not run, or that nothing was found.
void addHead(const Diagnosis& diagnosis, bool hasFault, std::vector<std::string>& lines)
{
    if (diagnosis.failure && !hasFault) {
        lines.push_back(fmt::format("error    {}  does not run: {}", diagnosis.model, diagnosis.failure->text()));
    } else if (diagnosis.findings.empty()) {
        const std::string hint =
            diagnosis.hasReference ? "." : "; a wrong weight shows only beside a good one: --against";
        lines.push_back(fmt::format("{} by {} ({} run){}",
                                    diagnosis.hasUnusual() ? "Beside that nothing unusual" : "Nothing unusual",
                                    counted(diagnosis.checks.size(), "check"), diagnosis.checksRun(), hint));
    }
}

/// At most `most` findings, and no more than leave room for `below` lines; all of them with 0.
void addFindings(const Diagnosis& diagnosis, std::size_t most, std::size_t below, std::vector<std::string>& lines)
{
    const bool isAll = most == 0;
    const std::size_t shown = isAll ? diagnosis.findings.size() : std::min(most, diagnosis.findings.size());
    for (std::size_t i = 0; i < shown; ++i) {
        std::vector<std::string> own;
        addFinding(diagnosis.findings[i], isAll, own);
        if (!isAll && i > 0 && lines.size() + own.size() + below > kMostLines) {
            break;
        }
        std::ranges::move(own, std::back_inserter(lines));
    }
}

void addNotRun(const Diagnosis& diagnosis, std::vector<std::string>& lines)
{
    for (const CheckRecord& record : diagnosis.checks) {
        if (!record.isRun) {
            lines.push_back(fmt::format("not run  {}  {}", record.check->id, record.why));
        }
    }
}

} // namespace

std::vector<std::string> textOf(const Diagnosis& diagnosis, std::size_t most)
{
    std::vector<std::string> lines;
    const bool isAll = most == 0;
    const bool hasFault =
        std::ranges::any_of(diagnosis.findings, [](const Finding& finding) { return finding.level != Level::Note; });
    if (!diagnosis.head.empty()) {
        addWrapped(headlineOf(diagnosis.head), 0, lines);
    }
    addHead(diagnosis, hasFault, lines);
    const auto lacking = static_cast<std::size_t>(std::ranges::count(diagnosis.checks, kNoModel, &CheckRecord::why));
    const bool hintsAtReference =
        !diagnosis.hasReference && !hasFault && (!diagnosis.findings.empty() || diagnosis.failure);
    addFindings(diagnosis, most, 1 + (lacking > 0 ? 1 : 0) + (hintsAtReference ? 1 : 0), lines);
    if (!diagnosis.findings.empty()) {
        lines.push_back(countsLine(diagnosis, isAll));
    }
    if (lacking > 0) {
        lines.push_back(fmt::format("{} want{} the model {}, which is not found: give it with --model FILE",
                                    counted(lacking, "check"), lacking == 1 ? "s" : "", diagnosis.model));
    }
    if (isAll) {
        addNotRun(diagnosis, lines);
    }
    if (hintsAtReference) {
        lines.push_back("A wrong weight or a permuted input shows only beside something good: --against MODEL, RUN or "
                        "INPUT");
    }
    return lines;
}

std::vector<std::string> explanationOf(const Check& check)
{
    std::vector<std::string> lines{std::string(check.id)};
    lines.push_back(fmt::format("  measures   {}", check.statistic));
    if (check.threshold != 0) {
        lines.push_back(fmt::format("  threshold  {}", numberText(check.threshold)));
    }
    lines.push_back(fmt::format("  healthy    {}", check.healthy));
    return lines;
}

} // namespace retro::diagnosis
