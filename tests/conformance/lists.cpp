// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/lists.h"

#include <cctype>
#include <fstream>
#include <sstream>

namespace retro::conformance
{

namespace
{

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

} // namespace

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

} // namespace retro::conformance
