// SPDX-License-Identifier: Apache-2.0
#include "core/base/hash.h"

#include <fmt/format.h>

namespace retro::base
{

namespace
{

std::uint64_t finalise(std::uint64_t v)
{
    v ^= v >> 33;
    v *= 0xff51afd7ed558ccdULL;
    v ^= v >> 33;
    v *= 0xc4ceb9fe1a85ec53ULL;
    return v ^ (v >> 33);
}

} // namespace

void Hasher::mix(std::uint64_t v)
{
    m_state = std::rotl(m_state ^ finalise(v + 0x2545f4914f6cdd1dULL), 27) * 5 + 0x52dce729U;
}

void Hasher::bytes(std::span<const std::byte> data)
{
    while (!data.empty()) {
        const std::size_t n = data.size() < 8 ? data.size() : 8;
        std::uint64_t word = 0;
        std::memcpy(&word, data.data(), n);
        mix(word);
        data = data.subspan(n);
    }
}

std::uint64_t Hasher::digest() const { return finalise(m_state); }

std::string hex(std::uint64_t v) { return fmt::format("{:016x}", v); }

} // namespace retro::base
