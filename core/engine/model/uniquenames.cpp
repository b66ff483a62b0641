// SPDX-License-Identifier: Apache-2.0
#include "core/engine/model/uniquenames.h"

namespace retro::engine
{

namespace
{

/// Longest stem of a file name, well below what file systems take with "~2.npy" behind it.
constexpr std::size_t kMaxStem = 200;

std::string fileStem(std::string name)
{
    for (char& c : name) {
        const auto byte = static_cast<unsigned char>(c);
        if (c == '/' || c == ':' || c == '\\' || byte < 0x20 || byte == 0x7f) {
            c = '_';
        }
    }
    if (name.size() > kMaxStem) {
        std::size_t end = kMaxStem;
        while (end > 0 && (static_cast<unsigned char>(name[end]) & 0xc0U) == 0x80U) { // not inside a character
            --end;
        }
        name.resize(end);
    }
    const bool isDots = name.find_first_not_of('.') == std::string::npos;
    return isDots ? "_" + name : name;
}

} // namespace

std::string UniqueNames::of(const std::string& name)
{
    const std::string stem = fileStem(name);
    std::size_t& count = m_counts[stem]; // of the names that have been made of it
    std::string unique = ++count == 1 ? stem : stem + "~" + std::to_string(count);
    while (!m_taken.insert(unique).second) {
        unique = stem + "~" + std::to_string(++count);
    }
    return unique;
}

} // namespace retro::engine
