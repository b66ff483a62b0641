// SPDX-License-Identifier: Apache-2.0
// Runs the ONNX project's own cases through the code of `retrograde-cli run`. Without a folder: those of Debian's
// libonnx-testdata (skipped with status 77 where that is not installed).
#include "tests/conformance/isolation.h"

#include <fmt/format.h>

#include <array>
#include <cctype>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace retro::conformance
{

namespace
{

/// One line of a list: a word and the reason after it.
struct ListEntry
{
    std::string word;
    std::string reason;
    mutable int uses = 0; ///< cases that it concerned
};

bool isWordCharacter(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

bool hasWord(std::string_view text, std::string_view word)
{
    for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
        const std::size_t end = at + word.size();
        if ((at == 0 || !isWordCharacter(text[at - 1])) && (end == text.size() || !isWordCharacter(text[end]))) {
            return true;
        }
    }
    return false;
}

/// Reads a list; '#' starts a comment.
std::vector<ListEntry> readList(const std::filesystem::path& file)
{
    std::vector<ListEntry> list;
    std::ifstream in(file);
    for (std::string line; std::getline(in, line);) {
        std::istringstream words(line);
        ListEntry entry;
        if (words >> entry.word && entry.word[0] != '#') {
            std::getline(words >> std::ws, entry.reason);
            list.push_back(std::move(entry));
        }
    }
    return list;
}

/// True when `text` has the form of `pattern`, in which '*' stands for any characters.
bool matches(std::string_view pattern, std::string_view text)
{
    if (pattern.empty()) {
        return text.empty();
    }
    if (pattern[0] == '*') {
        return matches(pattern.substr(1), text) || (!text.empty() && matches(pattern, text.substr(1)));
    }
    return !text.empty() && pattern[0] == text[0] && matches(pattern.substr(1), text.substr(1));
}

/// The first entry whose word matches as a pattern; nullptr when none does.
const ListEntry* findPattern(const std::vector<ListEntry>& list, std::string_view text)
{
    for (const ListEntry& entry : list) {
        if (matches(entry.word, text)) {
            ++entry.uses;
            return &entry;
        }
    }
    return nullptr;
}

/// True when the word of some entry stands in `text` as a whole word.
bool findWord(const std::vector<ListEntry>& list, std::string_view text)
{
    bool isFound = false;
    for (const ListEntry& entry : list) {
        const bool isHere = hasWord(text, entry.word);
        entry.uses += isHere ? 1 : 0;
        isFound = isFound || isHere;
    }
    return isFound;
}

} // namespace

} // namespace retro::conformance

using namespace retro::conformance;

namespace fs = std::filesystem;

namespace
{

constexpr const char* kDebianFolder = "/usr/share/libonnx-testdata/data";
constexpr std::array kDebianSets{"node", "simple", "pytorch-operator", "pytorch-converted"};
constexpr int kSkipped = 77;

struct Options
{
    fs::path folder; ///< empty = Debian's
    std::string filter;
    bool isVerbose = false;
};

/// What became of the cases, judged by the two lists.
class Verdict
{
public:
    explicit Verdict(bool isVerbose)
        : m_pending(readList(fs::path(RETRO_SOURCE_DIR) / "tests/conformance/pending.txt")), m_isVerbose(isVerbose)
    {
        for (ListEntry& entry : readList(fs::path(RETRO_SOURCE_DIR) / "tests/conformance/exclusions.txt")) {
            const bool isOperator = entry.word.starts_with('@');
            entry.word.erase(0, isOperator ? 1 : 0);
            (isOperator ? m_outside : m_excluded).push_back(std::move(entry));
        }
    }

    void add(const Case& one, const Ending& ending)
    {
        const std::string kind = judge(one, ending);
        ++m_counts[kind];
        if (kind == "FAIL" || m_isVerbose) {
            fmt::print("{:<8} {}{}{}\n", kind, one.name, ending.message.empty() ? "" : ": ", ending.message);
            std::fflush(stdout);
        }
    }

    /// Prints the counts; 0 when no case failed and, after a whole run, every exclusion was needed. An operator that no
    /// case refuses any more is only told: its line is to be removed.
    int finish(bool isWhole)
    {
        for (const auto& [kind, count] : m_counts) {
            fmt::print("{:<8} {}\n", kind, count);
        }
        const bool isGood = m_counts.contains("pass") && !m_counts.contains("FAIL");
        const int unused =
            isWhole ? countUnused(m_excluded, "concerns no case") + countUnused(m_outside, "concerns no case") : 0;
        if (isWhole) {
            countUnused(m_pending, "is refused nowhere any more");
        }
        return isGood && unused == 0 ? 0 : 1;
    }

private:
    static int countUnused(const std::vector<ListEntry>& list, const char* why)
    {
        int count = 0;
        for (const ListEntry& entry : list) {
            if (entry.uses == 0 || entry.reason.empty()) {
                fmt::print("STALE    '{}' {}, or has no reason; remove the line\n", entry.word, why);
                ++count;
            }
        }
        return count;
    }

    /// Nothing may crash or hang. An excluded case may end as it likes otherwise; an excluded or pending operator must
    /// be refused by its name.
    std::string judge(const Case& one, const Ending& ending)
    {
        if (ending.outcome == Outcome::Crashed || ending.outcome == Outcome::Hung) {
            return "FAIL";
        }
        if (findPattern(m_excluded, one.name) != nullptr) {
            return "excluded";
        }
        if (ending.outcome == Outcome::Passed) {
            return "pass";
        }
        if (ending.outcome == Outcome::Refused && findWord(m_outside, ending.message)) {
            return "excluded";
        }
        const bool isPending = ending.outcome == Outcome::Refused && findWord(m_pending, ending.message);
        return isPending ? "pending" : "FAIL";
    }

    std::vector<ListEntry> m_excluded; // cases
    std::vector<ListEntry> m_outside;  // operators
    std::vector<ListEntry> m_pending;
    bool m_isVerbose;
    std::map<std::string, int> m_counts;
};

std::vector<Case> allCases(const Options& options)
{
    if (!options.folder.empty()) {
        return findCases(options.folder);
    }
    std::vector<Case> cases;
    for (const char* set : kDebianSets) {
        const std::vector<Case> more = findCases(fs::path(kDebianFolder) / set);
        cases.insert(cases.end(), more.begin(), more.end());
    }
    return cases;
}

int run(const Options& options)
{
    std::vector<Case> cases = allCases(options);
    const std::regex filter(options.filter);
    std::erase_if(cases, [&](const Case& one) { return !std::regex_search(one.name, filter); });
    if (cases.empty()) {
        fmt::print("no case of this name\n");
        return 2;
    }
    Verdict verdict(options.isVerbose);
    runIsolated(cases, runCase, [&](const Case& one, const Ending& ending) { verdict.add(one, ending); });
    return verdict.finish(options.folder.empty() && options.filter.empty());
}

} // namespace

int main(int argc, char** argv)
{
    Options options;
    for (int i = 1; i < argc; ++i) {
        const std::string argument = argv[i];
        if (argument == "--filter" && i + 1 < argc) {
            options.filter = argv[++i];
        } else if (argument == "--verbose") {
            options.isVerbose = true;
        } else if (!argument.starts_with("-") && options.folder.empty()) {
            options.folder = argument;
        } else {
            fmt::print("conformance_onnx [--filter REGEX] [--verbose] [FOLDER]\n");
            return 2;
        }
    }
    if (options.folder.empty() && !fs::exists(kDebianFolder)) {
        fmt::print("SKIPPED: the cases are not here; install the Debian package libonnx-testdata\n");
        return kSkipped;
    }
    return run(options);
}
