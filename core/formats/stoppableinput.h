// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <google/protobuf/io/zero_copy_stream.h>

#include <cstddef>
#include <span>
#include <stop_token>

namespace retro::formats
{

/// Bytes for the protobuf decoder, a piece at a time: it ends early once a stop was asked for. What the decoder says of
/// the message then means nothing; look at the token first.
class StoppableInput final : public google::protobuf::io::ZeroCopyInputStream
{
public:
    /// Bytes that may still be decoded after a stop was asked for.
    static constexpr std::size_t kPiece = std::size_t{64} << 10;

    /// Borrows both.
    StoppableInput(std::span<const std::byte> data, const std::stop_token& stop) : m_data(data), m_stop(stop) {}

    bool Next(const void** data, int* size) override;
    void BackUp(int count) override;
    bool Skip(int count) override;
    [[nodiscard]] std::int64_t ByteCount() const override { return static_cast<std::int64_t>(m_at); }

private:
    std::span<const std::byte> m_data;
    const std::stop_token& m_stop;
    std::size_t m_at = 0;
};

} // namespace retro::formats
