// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/file.h"
#include "core/base/result.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace retro::formats
{

/// The bytes of an ONNX file as its decoder needs them. In a large file the elements of the large initializers stay
/// where they are ("left in the file") and are read when their tensor is made, so that they are in memory once and not
/// three times. What is left out is the field `raw_data` of `initializer` of the model's own graph; the decoder sees a
/// message without it.
class OnnxRawData
{
public:
    /// Smaller files are read whole.
    static constexpr std::uint64_t kLeastFile = 1U << 20;
    /// Elements of fewer bytes stay in the message: some of them say shapes.
    static constexpr std::uint64_t kLeastLeft = 64U << 10;

    /// Where elements lie in the file.
    struct Place
    {
        std::uint64_t offset = 0;
        std::uint64_t bytes = 0;
    };

    /// Errors as those of base::FileReader::open and read. A file that is not a message of the expected form is read
    /// whole; what is wrong with it is for its decoder to say.
    [[nodiscard]] static base::Result<OnnxRawData> open(const std::filesystem::path& path, std::uint64_t limit);

    [[nodiscard]] std::span<const std::byte> message() const { return m_message; }
    /// Gives the bytes of the message back once it was decoded.
    void dropMessage() { m_message = {}; }

    /// True when something was left in the file.
    [[nodiscard]] bool leavesAny() const { return !m_places.empty(); }
    /// Of an initializer of the model's graph; null: its elements are in the message, or nowhere.
    [[nodiscard]] const Place* find(const std::string& initializer) const;
    /// Fills `target`, which has the bytes of the place. Errors (Input): the file got shorter.
    [[nodiscard]] base::Result<void> read(const Place& place, std::span<std::byte> target) const;
    /// Reads the whole file as the message; nothing is left in the file then.
    [[nodiscard]] base::Result<void> readWhole();

private:
    explicit OnnxRawData(base::FileReader file) : m_file(std::move(file)) {}

    base::FileReader m_file;
    std::vector<std::byte> m_message;
    std::map<std::string, Place> m_places;
};

} // namespace retro::formats
