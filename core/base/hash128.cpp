// SPDX-License-Identifier: Apache-2.0
#include "core/base/hash128.h"

#include "core/base/hash.h"

#include <array>
#include <new>
#include <xxhash.h>

namespace retro::base
{

std::string hex(const Hash128& hash) { return hex(hash.high) + hex(hash.low); }

struct Hasher128::State
{
    struct Free
    {
        void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
    };
    std::unique_ptr<XXH3_state_t, Free> of{XXH3_createState()}; // aligned as the library needs it
};

Hasher128::Hasher128() : m_state(std::make_unique<State>())
{
    if (m_state->of == nullptr) {
        throw std::bad_alloc();
    }
    XXH3_128bits_reset(m_state->of.get());
}

Hasher128::~Hasher128() = default;

void Hasher128::bytes(std::span<const std::byte> data)
{
    XXH3_128bits_update(m_state->of.get(), data.data(), data.size());
}

void Hasher128::number(std::uint64_t v)
{
    std::array<std::byte, 8> low{};
    for (std::size_t i = 0; i < low.size(); ++i) {
        low[i] = static_cast<std::byte>(v >> (8 * i));
    }
    bytes(low);
}

void Hasher128::text(std::string_view s)
{
    number(s.size());
    bytes(std::as_bytes(std::span(s.data(), s.size())));
}

void Hasher128::hash(const Hash128& nested)
{
    number(nested.high);
    number(nested.low);
}

Hash128 Hasher128::value() const
{
    const XXH128_hash_t hash = XXH3_128bits_digest(m_state->of.get());
    return {hash.high64, hash.low64};
}

} // namespace retro::base
