// SPDX-License-Identifier: Apache-2.0
#include "core/layout/layoutfile.h"

#include "core/base/hash.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstring>
#include <limits>

namespace retro::layout
{

namespace
{

constexpr std::array<char, 8> kHead{'R', 'L', 'A', 'Y', 'O', 'U', 'T', '\n'};
constexpr std::size_t kChecksumBytes = sizeof(std::uint64_t);

std::uint64_t checksum(std::span<const std::byte> bytes)
{
    base::Hasher hasher;
    hasher.bytes(bytes);
    return hasher.digest();
}

class Writer
{
public:
    template <class T>
    void add(const T& item)
    {
        addAll(std::span<const T>(&item, 1));
    }

    template <class T>
    void addAll(std::span<const T> items)
    {
        const std::size_t at = m_bytes.size();
        m_bytes.resize(at + items.size_bytes());
        if (!items.empty()) {
            std::memcpy(m_bytes.data() + at, items.data(), items.size_bytes());
        }
    }

    std::vector<std::byte> finish()
    {
        add(checksum(m_bytes));
        return std::move(m_bytes);
    }

private:
    std::vector<std::byte> m_bytes;
};

/// Numbers of what follows, and the outer rectangle.
struct Counts
{
    std::uint64_t nodes = 0;
    std::uint64_t layers = 0;
    std::uint64_t edges = 0;
    std::uint64_t points = 0;
    std::uint64_t groups = 0;
    Rect bounds;
};

class Reader
{
public:
    Reader(std::span<const std::byte> bytes, const LayoutInput& input) : m_bytes(bytes), m_input(input) {}

    base::Result<LayeredLayout> read(base::Hash128 key)
    {
        RETRO_CHECK(readHead(key));
        RETRO_CHECK(readArrays());
        RETRO_CHECK(checkNumbers());
        RETRO_CHECK(checkLayers());
        RETRO_CHECK(checkEdges());
        m_out.edgeIndex = EdgeIndex(m_out.edgeSpans, static_cast<Index>(m_out.layers.size()));
        return std::move(m_out);
    }

private:
    static base::Error broken(std::string_view what)
    {
        return base::inputError(fmt::format("the kept layout is broken: {}", what));
    }

    template <class T>
    bool take(std::span<T> into)
    {
        const std::size_t size = into.size_bytes();
        if (m_bytes.size() < size) {
            return false;
        }
        if (size > 0) {
            std::memcpy(into.data(), m_bytes.data(), size);
        }
        m_bytes = m_bytes.subspan(size);
        return true;
    }

    template <class T>
    bool takeOne(T& into)
    {
        return take(std::span<T>(&into, 1));
    }

    base::Result<void> readHead(base::Hash128 key)
    {
        std::array<char, kHead.size()> head{};
        std::uint32_t version = 0;
        base::Hash128 ownKey;
        if (!takeOne(head) || head != kHead || !takeOne(version)) {
            return broken("it begins otherwise");
        }
        if (version != kLayoutFileVersion) {
            return broken(fmt::format("it has version {}", version));
        }
        if (!takeOne(ownKey) || ownKey != key || !takeOne(m_counts)) {
            return broken("it is of another drawing");
        }
        const bool isOfInput = m_counts.nodes == m_input.nodeSizes.size() && m_counts.edges == m_input.edges.size() &&
                               m_counts.groups == m_input.groupParents.size();
        return isOfInput ? base::Result<void>() : broken("its counts are not those of the drawing");
    }

    /// Counts that are not of the input are bounded by the bytes that are there before anything is made.
    base::Result<void> readArrays()
    {
        if (m_counts.layers > m_bytes.size() / sizeof(Layer) || m_counts.points > m_bytes.size() / sizeof(Point)) {
            return broken("it ends too early");
        }
        m_out.nodes.resize(m_counts.nodes);
        m_out.layers.resize(m_counts.layers);
        m_out.layerNodes.resize(m_counts.nodes);
        m_out.edgePointOffsets.resize(m_counts.edges + 1);
        m_out.edgePoints.resize(m_counts.points);
        m_out.groups.resize(m_counts.groups);
        m_out.bounds = m_counts.bounds;
        const bool isRead = take(std::span(m_out.nodes)) && take(std::span(m_out.layers)) &&
                            take(std::span(m_out.layerNodes)) && take(std::span(m_out.edgePointOffsets)) &&
                            take(std::span(m_out.edgePoints)) && take(std::span(m_out.groups));
        return isRead && m_bytes.empty() ? base::Result<void>() : broken("its length is not that of its counts");
    }

    static bool isFinite(const Rect& rect)
    {
        return std::isfinite(rect.x) && std::isfinite(rect.y) && std::isfinite(rect.width) &&
               std::isfinite(rect.height) && rect.width >= 0 && rect.height >= 0;
    }

    [[nodiscard]] base::Result<void> checkNumbers() const
    {
        const bool arePoints = std::all_of(m_out.edgePoints.begin(), m_out.edgePoints.end(),
                                           [](Point p) { return std::isfinite(p.x) && std::isfinite(p.y); });
        const bool areFrames = std::all_of(m_out.groups.begin(), m_out.groups.end(), isFinite);
        if (!arePoints || !areFrames || !isFinite(m_out.bounds)) {
            return broken("a place is not a number");
        }
        for (std::size_t node = 0; node < m_out.nodes.size(); ++node) {
            const Rect& box = m_out.nodes[node];
            if (!isFinite(box) || Size{box.width, box.height} != m_input.nodeSizes[node]) {
                return broken(fmt::format("box {} has another size", node));
            }
        }
        return {};
    }

    /// Layers cover layerNodes one after the other and name every box once; both sides rise.
    base::Result<void> checkLayers()
    {
        m_out.nodeLayers.assign(m_out.nodes.size(), kNone);
        Index next = 0;
        double top = -std::numeric_limits<double>::infinity();
        double bottom = top;
        for (std::size_t l = 0; l < m_out.layers.size(); ++l) {
            const Layer& layer = m_out.layers[l];
            const auto left = static_cast<Index>(m_out.layerNodes.size()) - next;
            const bool isOrdered = layer.top >= top && layer.bottom >= bottom && layer.bottom >= layer.top;
            if (!isOrdered || layer.firstNode != next || layer.nodeCount < 0 || layer.nodeCount > left ||
                !placeNodes(layer, static_cast<Index>(l))) {
                return broken(fmt::format("layer {} is out of order", l));
            }
            next += layer.nodeCount;
            top = layer.top;
            bottom = layer.bottom;
        }
        return next == static_cast<Index>(m_out.layerNodes.size()) ? base::Result<void>()
                                                                   : broken("a box has no layer");
    }

    bool placeNodes(const Layer& layer, Index number)
    {
        return std::all_of(m_out.layerNodes.begin() + layer.firstNode,
                           m_out.layerNodes.begin() + layer.firstNode + layer.nodeCount, [&](Index node) {
                               const bool isFree = node >= 0 && node < static_cast<Index>(m_out.nodes.size()) &&
                                                   m_out.nodeLayers[node] == kNone;
                               if (isFree) {
                                   m_out.nodeLayers[node] = number;
                               }
                               return isFree;
                           });
    }

    base::Result<void> checkEdges()
    {
        const std::vector<Index>& offsets = m_out.edgePointOffsets;
        if (offsets.front() != 0 || offsets.back() != static_cast<Index>(m_out.edgePoints.size())) {
            return broken("points belong to no edge");
        }
        for (std::size_t e = 0; e < m_input.edges.size(); ++e) {
            const LayerSpan span{m_out.nodeLayers[m_input.edges[e].from], m_out.nodeLayers[m_input.edges[e].to]};
            if (offsets[e + 1] < offsets[e] + 2 || offsets[e + 1] > offsets.back() || span.first > span.last) {
                return broken(fmt::format("edge {} is out of order", e));
            }
            m_out.edgeSpans.push_back(span);
        }
        return {};
    }

    std::span<const std::byte> m_bytes;
    const LayoutInput& m_input;
    Counts m_counts;
    LayeredLayout m_out;
};

} // namespace

std::vector<std::byte> writeLayout(const LayeredLayout& layout, base::Hash128 key)
{
    Writer writer;
    writer.add(kHead);
    writer.add(kLayoutFileVersion);
    writer.add(key);
    writer.add(Counts{layout.nodes.size(), layout.layers.size(), layout.edgeSpans.size(), layout.edgePoints.size(),
                      layout.groups.size(), layout.bounds});
    writer.addAll(std::span<const Rect>(layout.nodes));
    writer.addAll(std::span<const Layer>(layout.layers));
    writer.addAll(std::span<const Index>(layout.layerNodes));
    writer.addAll(std::span<const Index>(layout.edgePointOffsets));
    writer.addAll(std::span<const Point>(layout.edgePoints));
    writer.addAll(std::span<const Rect>(layout.groups));
    return writer.finish();
}

base::Result<LayeredLayout> readLayout(std::span<const std::byte> bytes, base::Hash128 key, const LayoutInput& input)
{
    if (bytes.size() < kChecksumBytes) {
        return base::inputError("the kept layout is broken: it is too short");
    }
    const auto content = bytes.first(bytes.size() - kChecksumBytes);
    std::uint64_t sum = 0;
    std::memcpy(&sum, bytes.data() + content.size(), kChecksumBytes);
    if (sum != checksum(content)) {
        return base::inputError("the kept layout is broken: its checksum does not fit");
    }
    return Reader(content, input).read(key);
}

} // namespace retro::layout
