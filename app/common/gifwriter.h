// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QImage>

#include <cstdint>
#include <string>

namespace retro::app
{

/// Makes the bytes of an animated GIF (GIF89a), which loops. Each picture is cut to what differs from the one before
/// and has its own palette of at most 256 colours, made by median cut.
class GifWriter
{
public:
    /// `delay` in hundredths of a second.
    explicit GifWriter(int delay) : m_delay(delay) {}

    /// All pictures have the size of the first; sides are at most 65,535 pixels.
    void add(const QImage& picture);
    /// The whole file.
    [[nodiscard]] std::string take();
    [[nodiscard]] QSize size() const { return m_last.size(); }

private:
    int m_delay;
    QImage m_last; ///< RGB32
    std::string m_bytes;
};

/// LZW of GIF: codes of growing width, cut into blocks of at most 255 bytes, the length of each before it, and an empty
/// block at the end. `bits` = width of an index, 2 … 8.
[[nodiscard]] std::string gifCompressed(const std::string& indices, int bits);

} // namespace retro::app
