// SPDX-License-Identifier: Apache-2.0
#include "app/common/gifwriter.h"

#include <algorithm>
#include <array>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

namespace retro::app
{

namespace
{

constexpr std::size_t kMostColours = 256;
constexpr int kMostCodes = 4096;
constexpr std::size_t kBlock = 255;
constexpr int kKeptBits = 5; // of a channel, where there are too many colours to count each

/// A colour and how many pixels have it.
struct Counted
{
    std::array<int, 3> channel{};
    std::uint32_t count = 0;
};

void appendShort(std::string& out, int number)
{
    out.push_back(static_cast<char>(number & 0xFF));
    out.push_back(static_cast<char>((number >> 8) & 0xFF));
}

/// The channel in which a box of colours is widest, and how wide.
std::pair<int, int> widestOf(const std::vector<Counted>& all, std::size_t begin, std::size_t end)
{
    std::pair<int, int> widest{0, -1};
    for (int channel = 0; channel < 3; ++channel) {
        const auto at = static_cast<std::size_t>(channel);
        const auto [least, most] = std::minmax_element(
            all.begin() + static_cast<std::ptrdiff_t>(begin), all.begin() + static_cast<std::ptrdiff_t>(end),
            [at](const Counted& a, const Counted& b) { return a.channel[at] < b.channel[at]; });
        const int width = most->channel[at] - least->channel[at];
        widest = width > widest.second ? std::pair(channel, width) : widest;
    }
    return widest;
}

QRgb meanOf(const std::vector<Counted>& all, std::size_t begin, std::size_t end)
{
    std::array<std::uint64_t, 3> sum{};
    std::uint64_t count = 0;
    for (std::size_t i = begin; i < end; ++i) {
        for (std::size_t channel = 0; channel < 3; ++channel) {
            sum[channel] += std::uint64_t{all[i].count} * static_cast<std::uint64_t>(all[i].channel[channel]);
        }
        count += all[i].count;
    }
    const auto mean = [&](std::size_t channel) {
        return static_cast<int>(sum[channel] / std::max<std::uint64_t>(1, count));
    };
    return qRgb(mean(0), mean(1), mean(2));
}

/// A palette and the entry of every colour that was counted (by its key).
struct Palette
{
    std::vector<QRgb> colours;
    std::unordered_map<QRgb, std::uint8_t> entry;
    int shift = 0; ///< bits of a channel that a key leaves out
};

QRgb keyOf(QRgb pixel, int shift)
{
    const int mask = 0xFF & ~((1 << shift) - 1);
    return qRgb(qRed(pixel) & mask, qGreen(pixel) & mask, qBlue(pixel) & mask);
}

/// Pixels by the key of their colour.
using ColourCounts = std::unordered_map<QRgb, std::uint32_t>;

void countColours(const QImage& picture, int shift, ColourCounts& counts)
{
    counts.clear();
    for (int y = 0; y < picture.height(); ++y) {
        const auto* line = reinterpret_cast<const QRgb*>(picture.constScanLine(y));
        for (int x = 0; x < picture.width(); ++x) {
            ++counts[keyOf(line[x], shift)];
        }
    }
}

/// Colours that share an entry: from … until.
using ColourBox = std::pair<std::size_t, std::size_t>;

/// The box with the widest channel, and that channel; none where every box holds one colour.
std::optional<std::pair<std::size_t, std::size_t>> boxToCut(const std::vector<Counted>& all,
                                                            const std::vector<ColourBox>& boxes)
{
    std::size_t chosen = boxes.size();
    std::pair<int, int> widest{0, 0};
    for (std::size_t i = 0; i < boxes.size(); ++i) {
        const auto [begin, end] = boxes[i];
        if (end - begin < 2) {
            continue;
        }
        const auto width = widestOf(all, begin, end);
        if (width.second > widest.second || chosen == boxes.size()) {
            widest = width;
            chosen = i;
        }
    }
    if (chosen == boxes.size()) {
        return std::nullopt;
    }
    return std::pair(chosen, static_cast<std::size_t>(widest.first));
}

/// Sorts a box by a channel and says where it is cut, so that both parts hold about as many pixels.
std::size_t middleOf(std::vector<Counted>& all, const ColourBox& box, std::size_t channel)
{
    const auto [begin, end] = box;
    std::stable_sort(all.begin() + static_cast<std::ptrdiff_t>(begin), all.begin() + static_cast<std::ptrdiff_t>(end),
                     [channel](const Counted& a, const Counted& b) { return a.channel[channel] < b.channel[channel]; });
    std::uint64_t total = 0;
    for (std::size_t i = begin; i < end; ++i) {
        total += all[i].count;
    }
    std::size_t middle = begin + 1;
    for (std::uint64_t sum = all[begin].count; middle + 1 < end && sum + all[middle].count <= total / 2; ++middle) {
        sum += all[middle].count;
    }
    return middle;
}

Palette paletteOf(const QImage& picture)
{
    Palette palette;
    ColourCounts counts;
    for (palette.shift = 0;; palette.shift = 8 - kKeptBits) {
        countColours(picture, palette.shift, counts);
        if (counts.size() <= kMostColours || palette.shift > 0) {
            break;
        }
    }
    std::vector<Counted> all;
    all.reserve(counts.size());
    const int half = palette.shift > 0 ? 1 << (palette.shift - 1) : 0;
    for (const auto& [key, count] : counts) {
        all.push_back({{qRed(key) + half, qGreen(key) + half, qBlue(key) + half}, count});
    }
    // In a fixed order, so that the same picture gives the same file.
    std::ranges::sort(all, {}, [](const Counted& each) { return each.channel; });
    std::vector<ColourBox> boxes{{0, all.size()}};
    while (boxes.size() < std::min(kMostColours, all.size())) {
        const auto cut = boxToCut(all, boxes);
        if (!cut) {
            break;
        }
        const auto [chosen, channel] = *cut;
        const auto [begin, end] = boxes[chosen];
        const std::size_t middle = middleOf(all, boxes[chosen], channel);
        boxes[chosen] = {begin, middle};
        boxes.emplace_back(middle, end);
    }
    for (const auto& [begin, end] : boxes) {
        for (std::size_t i = begin; i < end; ++i) {
            const QRgb key = qRgb(all[i].channel[0] - half, all[i].channel[1] - half, all[i].channel[2] - half);
            palette.entry[key] = static_cast<std::uint8_t>(palette.colours.size());
        }
        palette.colours.push_back(meanOf(all, begin, end));
    }
    return palette;
}

/// What differs between two pictures of one size.
QRect differenceOf(const QImage& before, const QImage& now)
{
    if (before.isNull()) {
        return now.rect();
    }
    QRect area;
    for (int y = 0; y < now.height(); ++y) {
        const auto* a = reinterpret_cast<const QRgb*>(before.constScanLine(y));
        const auto* b = reinterpret_cast<const QRgb*>(now.constScanLine(y));
        const auto* end = b + now.width();
        const auto first = std::mismatch(b, end, a).first;
        if (first == end) {
            continue;
        }
        int last = now.width() - 1;
        while (a[last] == b[last]) {
            --last;
        }
        area |= QRect(QPoint(static_cast<int>(first - b), y), QPoint(last, y));
    }
    return area.isEmpty() ? QRect(0, 0, 1, 1) : area; // a picture that shows nothing new still takes its time
}

/// Packs codes of changing width, the lowest bit first.
class BitStream
{
public:
    void put(int code, int width)
    {
        m_held |= static_cast<std::uint32_t>(code) << m_bits;
        m_bits += width;
        while (m_bits >= 8) {
            m_bytes.push_back(static_cast<char>(m_held & 0xFFU));
            m_held >>= 8;
            m_bits -= 8;
        }
    }
    [[nodiscard]] std::string take()
    {
        if (m_bits > 0) {
            m_bytes.push_back(static_cast<char>(m_held & 0xFFU));
        }
        return std::move(m_bytes);
    }

private:
    std::string m_bytes;
    std::uint32_t m_held = 0;
    int m_bits = 0;
};

/// Bytes in blocks, each behind its length, and the empty block that ends them.
std::string inBlocks(const std::string& packed)
{
    std::string out;
    for (std::size_t at = 0; at < packed.size(); at += kBlock) {
        const std::size_t length = std::min(kBlock, packed.size() - at);
        out.push_back(static_cast<char>(length));
        out.append(packed, at, length);
    }
    out.push_back('\0');
    return out;
}

} // namespace

std::string gifCompressed(const std::string& indices, int bits)
{
    const int clear = 1 << bits;
    const int stop = clear + 1;
    int next = stop + 1;
    int width = bits + 1;
    BitStream stream;
    std::unordered_map<std::uint32_t, int> known; // (prefix code, index) → code
    stream.put(clear, width);
    int prefix = -1;
    for (const char each : indices) {
        const int index = static_cast<unsigned char>(each);
        if (prefix < 0) {
            prefix = index;
            continue;
        }
        const std::uint32_t key = static_cast<std::uint32_t>(prefix) << 8U | static_cast<std::uint32_t>(index);
        if (const auto found = known.find(key); found != known.end()) {
            prefix = found->second;
            continue;
        }
        stream.put(prefix, width);
        if (next < kMostCodes) {
            if (next == 1 << width) {
                ++width;
            }
            known[key] = next++;
        } else {
            stream.put(clear, width);
            known.clear();
            next = stop + 1;
            width = bits + 1;
        }
        prefix = index;
    }
    if (prefix >= 0) {
        stream.put(prefix, width);
        if (next == 1 << width && width < 12) {
            ++width; // the reader has added an entry for that code too
        }
    }
    stream.put(stop, width);
    return inBlocks(stream.take());
}

void GifWriter::add(const QImage& picture)
{
    const QImage now = picture.convertToFormat(QImage::Format_RGB32);
    if (m_last.isNull()) {
        m_bytes = "GIF89a";
        appendShort(m_bytes, now.width());
        appendShort(m_bytes, now.height());
        m_bytes.append({'\x70', '\0', '\0'}); // no palette for all
        m_bytes.append("\x21\xFF\x0BNETSCAPE2.0\x03\x01", 16);
        m_bytes.append({'\0', '\0', '\0'}); // for ever
    }
    const QRect area = differenceOf(m_last, now);
    const QImage part = now.copy(area);
    const Palette palette = paletteOf(part);
    int bits = 2;
    while ((std::size_t{1} << bits) < palette.colours.size()) {
        ++bits;
    }
    m_bytes.append({'\x21', '\xF9', '\x04', '\x04'}); // what was drawn stays
    appendShort(m_bytes, m_delay);
    m_bytes.append({'\0', '\0', '\x2C'});
    for (const int number : {area.x(), area.y(), area.width(), area.height()}) {
        appendShort(m_bytes, number);
    }
    m_bytes.push_back(static_cast<char>(0x80 | (bits - 1)));
    for (std::size_t i = 0; i < std::size_t{1} << bits; ++i) {
        const QRgb colour = i < palette.colours.size() ? palette.colours[i] : QRgb{}; // unused places
        m_bytes.push_back(static_cast<char>(qRed(colour)));
        m_bytes.push_back(static_cast<char>(qGreen(colour)));
        m_bytes.push_back(static_cast<char>(qBlue(colour)));
    }
    std::string indices;
    indices.reserve(static_cast<std::size_t>(part.width()) * static_cast<std::size_t>(part.height()));
    for (int y = 0; y < part.height(); ++y) {
        const auto* line = reinterpret_cast<const QRgb*>(part.constScanLine(y));
        for (int x = 0; x < part.width(); ++x) {
            indices.push_back(static_cast<char>(palette.entry.at(keyOf(line[x], palette.shift))));
        }
    }
    m_bytes.push_back(static_cast<char>(bits));
    m_bytes += gifCompressed(indices, bits);
    m_last = now;
}

std::string GifWriter::take()
{
    m_bytes.push_back('\x3B');
    return std::move(m_bytes);
}

} // namespace retro::app
