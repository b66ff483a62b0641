// SPDX-License-Identifier: Apache-2.0
#include "views/graph/graphsearch.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace retro::views
{

namespace
{

enum class Place { Anywhere, Name, Operator, Scope };

struct Word
{
    Place place = Place::Anywhere;
    std::string_view text;
};

struct Prefix
{
    std::string_view text;
    Place place;
};
constexpr std::array kPrefixes{Prefix{"name:", Place::Name}, Prefix{"op:", Place::Operator},
                               Prefix{"scope:", Place::Scope}};

char lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }

bool contains(std::string_view text, std::string_view part)
{
    return std::search(text.begin(), text.end(), part.begin(), part.end(),
                       [](char a, char b) { return lower(a) == lower(b); }) != text.end();
}

Word readWord(std::string_view text)
{
    for (const Prefix& prefix : kPrefixes) {
        if (text.size() >= prefix.text.size() && contains(text.substr(0, prefix.text.size()), prefix.text)) {
            return {prefix.place, text.substr(prefix.text.size())};
        }
    }
    return {Place::Anywhere, text};
}

/// Words between blanks; a prefix without a text says nothing.
std::vector<Word> wordsOf(std::string_view query)
{
    std::vector<Word> words;
    while (!query.empty()) {
        const std::size_t blank = std::min(query.find(' '), query.size());
        const Word word = readWord(query.substr(0, blank));
        if (!word.text.empty()) {
            words.push_back(word);
        }
        query.remove_prefix(std::min(blank + 1, query.size()));
    }
    return words;
}

bool matches(const graph::Graph& graph, base::NodeId node, const Word& word)
{
    const bool isAnywhere = word.place == Place::Anywhere;
    return ((isAnywhere || word.place == Place::Name) && contains(graph.labelOf(node), word.text)) ||
           ((isAnywhere || word.place == Place::Operator) && contains(graph.opOf(node), word.text)) ||
           ((isAnywhere || word.place == Place::Scope) && contains(graph.scopeOf(node), word.text));
}

} // namespace

std::vector<base::NodeId> findNodes(const graph::Graph& graph, std::string_view query)
{
    std::vector<base::NodeId> found;
    const std::vector<Word> words = wordsOf(query);
    for (std::size_t i = 0; i < graph.runNodeCount() && !words.empty(); ++i) {
        const base::NodeId node(i);
        if (std::all_of(words.begin(), words.end(), [&](const Word& word) { return matches(graph, node, word); })) {
            found.push_back(node);
        }
    }
    return found;
}

} // namespace retro::views
