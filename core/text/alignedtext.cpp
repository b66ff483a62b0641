// SPDX-License-Identifier: Apache-2.0
#include "core/text/alignedtext.h"

#include "core/base/failure.h"

#include <fmt/format.h>

#include <algorithm>

namespace retro::text
{

void checkChangedBytes(std::size_t bytes)
{
    if (bytes > kMostChangedBytes) {
        throw base::Failure(base::inputError(
            fmt::format("the tokenizer makes more than {} MiB of this text; give a shorter text, or a tokenizer.json "
                        "whose steps make it no longer",
                        kMostChangedBytes >> 20U)));
    }
}

AlignedText::AlignedText(std::string utf8, std::uint32_t first) : m_bytes(std::move(utf8)), m_first(first)
{
    m_from.reserve(m_bytes.size());
    std::uint32_t number = first;
    for (std::size_t at = 0; at < m_bytes.size(); ++number) {
        const std::uint32_t length = characterAt(m_bytes, at).bytes;
        m_from.insert(m_from.end(), length, Range{number, number + 1});
        at += length;
    }
    m_last = number;
}

Range AlignedText::rangeOf(std::size_t begin, std::size_t end) const
{
    if (begin >= end || end > m_from.size()) {
        const auto at = static_cast<std::uint32_t>(m_first + std::min(begin, m_from.size()));
        return {at, at};
    }
    return {m_from[begin].begin, m_from[end - 1].end};
}

AlignedText AlignedText::slice(std::size_t begin, std::size_t end) const
{
    AlignedText part;
    const Range place = rangeOf(begin, end);
    part.m_first = place.begin;
    part.m_last = place.end;
    part.m_bytes = m_bytes.substr(begin, end - begin);
    part.m_from.assign(m_from.begin() + static_cast<std::ptrdiff_t>(begin),
                       m_from.begin() + static_cast<std::ptrdiff_t>(end));
    return part;
}

void AlignedText::change(std::span<const Change> changes, std::size_t removed)
{
    std::size_t at = 0;
    const auto skip = [&](std::size_t count) {
        for (; count > 0 && at < m_bytes.size(); --count) {
            at += characterAt(m_bytes, at).bytes;
        }
    };
    skip(removed);
    std::string bytes;
    std::vector<Range> from;
    bytes.reserve(m_bytes.size());
    from.reserve(m_bytes.size());
    for (const Change& one : changes) {
        Range range{m_first, m_first};
        if (one.taken > 0) {
            range = at > 0 ? m_from[at - 1] : range;
        } else if (at < m_from.size()) {
            range = m_from[at];
            skip(1 + static_cast<std::size_t>(-one.taken));
        }
        append(bytes, one.code);
        from.resize(bytes.size(), range);
    }
    checkChangedBytes(bytes.size());
    m_bytes = std::move(bytes);
    m_from = std::move(from);
}

void AlignedText::filter(const std::function<bool(char32_t)>& keep)
{
    std::size_t written = 0;
    for (std::size_t at = 0; at < m_bytes.size();) {
        const Character one = characterAt(m_bytes, at);
        if (keep(one.code)) {
            for (std::size_t i = at; i < at + one.bytes; ++i, ++written) {
                m_bytes[written] = m_bytes[i];
                m_from[written] = m_from[i];
            }
        }
        at += one.bytes;
    }
    m_bytes.resize(written);
    m_from.resize(written);
}

void AlignedText::map(const std::function<char32_t(char32_t)>& change)
{
    std::string bytes;
    std::vector<Range> from;
    bytes.reserve(m_bytes.size());
    from.reserve(m_bytes.size());
    for (std::size_t at = 0; at < m_bytes.size();) {
        const Character one = characterAt(m_bytes, at);
        append(bytes, change(one.code));
        from.resize(bytes.size(), m_from[at]);
        at += one.bytes;
    }
    m_bytes = std::move(bytes);
    m_from = std::move(from);
}

void AlignedText::prepend(std::string_view text)
{
    if (!m_bytes.empty()) {
        checkChangedBytes(text.size() + m_bytes.size());
        m_bytes.insert(0, text);
        m_from.insert(m_from.begin(), text.size(), Range(m_from.front()));
    }
}

void AlignedText::replace(std::span<const std::pair<std::size_t, std::size_t>> places, std::string_view content)
{
    if (places.empty()) {
        return;
    }
    checkChangedBytes(places.size() * content.size()); // both are bounded by what a text and a file may have
    std::string bytes;
    std::vector<Range> from;
    std::size_t done = 0;
    for (const auto& [begin, end] : places) {
        bytes.append(m_bytes, done, begin - done);
        from.insert(from.end(), m_from.begin() + static_cast<std::ptrdiff_t>(done),
                    m_from.begin() + static_cast<std::ptrdiff_t>(begin));
        bytes += content;
        from.resize(bytes.size(), end > 0 ? m_from[end - 1] : Range{m_first, m_first});
        done = end;
    }
    bytes.append(m_bytes, done);
    from.insert(from.end(), m_from.begin() + static_cast<std::ptrdiff_t>(done), m_from.end());
    checkChangedBytes(bytes.size());
    m_bytes = std::move(bytes);
    m_from = std::move(from);
}

} // namespace retro::text
