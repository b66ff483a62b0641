// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <google/protobuf/arena.h>
#include <google/protobuf/io/zero_copy_stream.h>

#include <cstddef>
#include <span>
#include <stop_token>

namespace retro::formats
{

/// Bytes for the protobuf decoder, a piece at a time: it ends early once a stop was asked for, or once the message
/// takes more memory than is fair. What the decoder says of the message then means nothing; look at both first.
class StoppableInput final : public google::protobuf::io::ZeroCopyInputStream
{
public:
    /// Bytes that may still be decoded after a stop was asked for.
    static constexpr std::size_t kPiece = std::size_t{64} << 10;

    /// Memory that a message may take: as much as this, and so many times the bytes that it was decoded from. Two bytes
    /// are enough for an empty node, which takes more than a hundred.
    static constexpr std::size_t kMostMemory = std::size_t{256} << 20;
    static constexpr std::size_t kMostTimes = 16;

    /// Borrows all. `arena` is where the message is made.
    StoppableInput(std::span<const std::byte> data, const std::stop_token& stop, const google::protobuf::Arena& arena)
        : m_data(data), m_stop(stop), m_arena(arena)
    {}

    /// True when the message takes more memory than is fair.
    [[nodiscard]] bool isTooLarge() const { return m_isTooLarge; }

    bool Next(const void** data, int* size) override;
    void BackUp(int count) override;
    bool Skip(int count) override;
    [[nodiscard]] std::int64_t ByteCount() const override { return static_cast<std::int64_t>(m_at); }

private:
    std::span<const std::byte> m_data;
    const std::stop_token& m_stop;
    const google::protobuf::Arena& m_arena;
    std::size_t m_at = 0;
    bool m_isTooLarge = false;
};

} // namespace retro::formats
