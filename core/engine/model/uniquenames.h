// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>

namespace retro::engine
{

/// File names, without extension, for names that may be any text: '/', ':', '\' and control characters become '_', so
/// that none leaves its folder, and no two are equal: a second "a" is "a~2", or the next number that is free.
class UniqueNames
{
public:
    /// Takes a name away: no file will have it.
    void reserve(const std::string& name) { m_taken.insert(name); }
    /// The file name for the next of the names.
    [[nodiscard]] std::string of(const std::string& name);

private:
    std::unordered_set<std::string> m_taken;
    std::unordered_map<std::string, std::size_t> m_counts; // by what it was before it was made unique
};

} // namespace retro::engine
