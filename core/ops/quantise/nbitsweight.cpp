// SPDX-License-Identifier: Apache-2.0
#include "core/ops/quantise/nbitsweight.h"

#include "core/ops/bind/bindcheck.h"
#include "core/ops/kernel/filled.h"
#include "core/ops/kernel/producttile.h"
#include "core/ops/kernel/registers.h"
#include "core/ops/linear/storedweight.h"
#include "core/tensor/checkedshape.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <utility>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace retro::ops
{

namespace
{

using tensor::DType;
using tensor::Shape;

constexpr std::int64_t kMostBlock = 1 << 20;

struct NBitsSlot
{
    enum : std::size_t { kData = 0, kWeight = 1, kScales = 2, kZeroPoints = 3, kGroups = 4, kBias = 5 };
};

/// How the weights of MatMulNBits lie: rows of blocks of numbers of few bits, low bits first.
struct NBitsLayout
{
    std::int64_t depth = 0; ///< K
    std::int64_t rows = 0;  ///< N
    std::int64_t bits = 4;
    std::int64_t block = 32;

    [[nodiscard]] std::int64_t blocks() const { return (depth + block - 1) / block; }
    [[nodiscard]] std::int64_t bytesOfBlock() const { return block * bits / 8; }
    /// Bytes of the packed zero points of one row.
    [[nodiscard]] std::int64_t bytesOfZeros() const { return (blocks() * bits + 7) / 8; }
};

/// Number `at` of a stream of numbers of few bits, which divide 8.
double packedNumber(const std::uint8_t* bytes, std::int64_t at, std::int64_t bits)
{
    const std::int64_t bit = at * bits;
    return (bytes[bit / 8] >> (bit % 8)) & ((1 << bits) - 1);
}

/// Element `at` of a floating tensor that lies row by row.
double numberAt(const Tensor& numbers, std::int64_t at)
{
    switch (numbers.dtype()) {
    case DType::Float32:
        return numbers.data<float>()[at];
    case DType::Float16:
        return tensor::halfToFloat(reinterpret_cast<const std::uint16_t*>(numbers.rawData())[at]);
    case DType::BFloat16:
        return tensor::bfloatToFloat(reinterpret_cast<const std::uint16_t*>(numbers.rawData())[at]);
    default:
        return numbers.at(at);
    }
}

/// `whole` numbers that share scale and zero, from the first bit of a byte on. Each is rounded once: level and zero
/// are small whole numbers.
template <int kBits, std::int64_t kWhole>
void widenLevels(const std::uint8_t* from, std::int64_t whole, float zero, float scale, float* to)
{
    constexpr int kPerByte = 8 / kBits;
    constexpr int kMask = (1 << kBits) - 1;
    const std::int64_t bytes = kWhole > 0 ? kWhole / kPerByte : whole / kPerByte;
    for (std::int64_t i = 0; i < bytes; ++i) {
        for (int part = 0; part < kPerByte; ++part) {
            const int level = (from[i] >> (part * kBits)) & kMask;
            to[i * kPerByte + part] = (static_cast<float>(level) - zero) * scale;
        }
    }
}

#if defined(__x86_64__)

using SixteenBytes = std::uint8_t __attribute__((vector_size(16), aligned(1), may_alias));
using SixteenInts = std::int32_t __attribute__((vector_size(64)));
using SixteenFloats = float __attribute__((vector_size(64)));

/// The numbers at some places of sixteen.
[[gnu::target("arch=x86-64-v4")]] inline SixteenFloats lookedUp(SixteenFloats numbers, SixteenInts places)
{
    const auto found = _mm512_permutexvar_ps(reinterpret_cast<__m512i>(places), reinterpret_cast<__m512>(numbers));
    return reinterpret_cast<SixteenFloats>(found);
}

/// The same of 4 bits for some blocks of a multiple of 32 numbers: each is looked up among the sixteen of its block.
[[gnu::target("arch=x86-64-v4")]] void widenNibbles(const std::uint8_t* from, std::int64_t blocks, std::int64_t block,
                                                    const float* zeros, const float* scales, float* to)
{
    constexpr std::int64_t kStep = 32;
    const SixteenFloats levels{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    for (std::int64_t b = 0; b < blocks; ++b) {
        const SixteenFloats numbers = (levels - zeros[b]) * scales[b];
        for (std::int64_t i = 0; i < block; i += kStep, from += kStep / 2, to += kStep) {
            const SixteenInts pairs =
                __builtin_convertvector(*reinterpret_cast<const SixteenBytes*>(from), SixteenInts);
            const SixteenFloats low = lookedUp(numbers, pairs & 15);
            const SixteenFloats high = lookedUp(numbers, pairs >> 4);
            const SixteenFloats first =
                __builtin_shufflevector(low, high, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
            const SixteenFloats second =
                __builtin_shufflevector(low, high, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
            _mm512_storeu_ps(to, reinterpret_cast<__m512>(first));
            _mm512_storeu_ps(to + kStep / 2, reinterpret_cast<__m512>(second));
        }
    }
}

bool looksUpNibbles() { return registersAtHand() == Registers::Wide; }

#else

void widenNibbles(const std::uint8_t* from, std::int64_t blocks, std::int64_t block, const float* zeros,
                  const float* scales, float* to)
{
    for (std::int64_t b = 0; b < blocks; ++b) {
        widenLevels<4, 0>(from + b * block / 2, block, zeros[b], scales[b], to + b * block);
    }
}

bool looksUpNibbles() { return false; }

#endif

/// (u − z)·s of every weight, depth × rows: what x is multiplied with.
class NBitsWeight final : public PackedMatrix, public std::enable_shared_from_this<NBitsWeight>
{
public:
    NBitsWeight(const NBitsLayout& layout, std::span<const Tensor> constants)
        : PackedMatrix({layout.depth, layout.rows}), m_layout(layout),
          m_data(constants[NBitsSlot::kWeight].contiguous()), m_scales(constants[NBitsSlot::kScales].contiguous())
    {
        if (const Tensor& zeros = constants[NBitsSlot::kZeroPoints]; zeros.isValid()) {
            m_areZerosPacked = zeros.dtype() == DType::UInt8;
            m_zeros = zeros.contiguous();
        }
        if (const Tensor& groups = constants[NBitsSlot::kGroups]; groups.isValid()) {
            m_groups = groups.to(DType::Int64).contiguous();
        }
    }

    [[nodiscard]] Tensor widened(DType type) const override
    {
        const Tensor turned = filled(type, {m_layout.rows, m_layout.depth}, [&](auto* w) {
            for (std::int64_t n = 0; n < m_layout.rows; ++n, w += m_layout.depth) {
                widenOneByOne(n, 0, m_layout.depth, w);
            }
        });
        return turned.permuted(std::array<std::int64_t, 2>{1, 0});
    }

    [[nodiscard]] std::unique_ptr<const WeightRows> columns(WeightVariant variant) const override;

    /// Numbers [begin, begin + count) of the weights of result `row`.
    void widen(std::int64_t row, std::int64_t begin, std::int64_t count, float* to) const
    {
        if (!isPlain()) {
            return widenOneByOne(row, begin, count, to);
        }
        switch (m_layout.bits) {
        case 2:
            return widenPlain<2>(row, begin, count, to);
        case 4:
            return looksUpNibbles() ? widenByNibbles(row, begin, count, to) : widenPlain<4>(row, begin, count, to);
        default:
            return widenPlain<8>(row, begin, count, to);
        }
    }

    /// As WeightRows::multiplyFew(), of numbers of four bits that are widened as widenPlain() does.
    [[nodiscard]] bool multiplyFew(const TurnedProduct& product, std::int64_t first) const
    {
        constexpr std::int64_t kTogether = 32; // steps
        const bool isCut = product.block < product.depth && product.block % kTogether != 0;
        if (!isPlain() || m_layout.bits != 4 || m_layout.block % kTogether != 0 || product.depth % kTogether != 0 ||
            isCut) {
            return false;
        }
        const std::int64_t lanes = productTiles().lanes;
        LevelGroups groups{std::vector<float>(static_cast<std::size_t>(lanes * m_layout.blocks())), {}};
        groups.zeros.resize(groups.scales.size());
        for (std::int64_t column = 0; column < product.columns; column += lanes) {
            const std::int64_t count = std::min(lanes, product.columns - column);
            if (!placeGroups(first + column, count, lanes, groups)) {
                return false;
            }
            TurnedProduct own = product;
            own.columns = count;
            own.c += column;
            own.perColumn = own.perColumn == nullptr ? nullptr : own.perColumn + column;
            own.levels = {packedRow(first + column), m_layout.blocks() * m_layout.bytesOfBlock(), m_layout.block,
                          groups.scales.data(), groups.zeros.data()};
            productTiles().multiplyTurned(own);
        }
        return true;
    }

    void fetch(std::int64_t row, std::int64_t begin, std::int64_t count) const
    {
        fetchBytes(packedRow(row) + begin * m_layout.bits / 8, count * m_layout.bits / 8);
        const auto bytesOfScale = static_cast<std::int64_t>(tensor::sizeOf(m_scales.dtype()));
        const std::int64_t first = row * m_layout.blocks() + begin / m_layout.block;
        fetchBytes(m_scales.rawData() + first * bytesOfScale, (count / m_layout.block + 1) * bytesOfScale);
    }

private:
    /// Of some rows side by side, group by group.
    struct LevelGroups
    {
        std::vector<float> scales;
        std::vector<float> zeros;
    };

    /// False where a scale is below the smallest normal number: products flush those, and widening does not.
    [[nodiscard]] bool placeGroups(std::int64_t row, std::int64_t count, std::int64_t lanes, LevelGroups& groups) const
    {
        constexpr std::int64_t kMostBlocks = 64;
        std::array<float, kMostBlocks> zeros;
        std::array<float, kMostBlocks> scales;
        bool areNormal = true;
        for (std::int64_t i = 0; i < count; ++i) {
            for (std::int64_t from = 0; from < m_layout.blocks(); from += kMostBlocks) {
                const std::int64_t blocks = std::min(kMostBlocks, m_layout.blocks() - from);
                takeScales(row + i, from, blocks, zeros.data(), scales.data());
                for (std::int64_t b = 0; b < blocks; ++b) {
                    const auto at = static_cast<std::size_t>((from + b) * lanes + i);
                    groups.scales[at] = scales[static_cast<std::size_t>(b)];
                    groups.zeros[at] = zeros[static_cast<std::size_t>(b)];
                    const std::uint32_t bits = std::bit_cast<std::uint32_t>(groups.scales[at]) & 0x7fffffffU;
                    areNormal = areNormal && (bits == 0 || bits >= 0x00800000U);
                }
            }
        }
        return areNormal;
    }

    /// Each number is (level - zero) · scale of its block, in float32.
    [[nodiscard]] bool isPlain() const
    {
        return !m_groups.isValid() && (!m_zeros.isValid() || m_areZerosPacked) && m_scales.dtype() != DType::Float64;
    }
    [[nodiscard]] const std::uint8_t* packedRow(std::int64_t row) const
    {
        return m_data.data<std::uint8_t>() + row * m_layout.blocks() * m_layout.bytesOfBlock();
    }
    [[nodiscard]] std::int64_t groupOf(std::int64_t k) const
    {
        return m_groups.isValid() ? m_groups.data<std::int64_t>()[k] : k / m_layout.block;
    }
    [[nodiscard]] double scaleOf(std::int64_t row, std::int64_t group) const
    {
        return numberAt(m_scales, row * m_layout.blocks() + group);
    }
    [[nodiscard]] double zeroOf(std::int64_t row, std::int64_t group) const
    {
        if (!m_zeros.isValid()) {
            return static_cast<double>(1LL << (m_layout.bits - 1));
        }
        return m_areZerosPacked
                   ? packedNumber(m_zeros.data<std::uint8_t>() + row * m_layout.bytesOfZeros(), group, m_layout.bits)
                   : numberAt(m_zeros, row * m_layout.blocks() + group);
    }

    template <class T>
    void widenOneByOne(std::int64_t row, std::int64_t begin, std::int64_t count, T* to) const
    {
        const std::uint8_t* const packed = packedRow(row);
        for (std::int64_t k = begin; k < begin + count; ++k) {
            const std::int64_t group = groupOf(k);
            const double level = packedNumber(packed, k, m_layout.bits);
            *to++ = static_cast<T>((level - zeroOf(row, group)) * scaleOf(row, group));
        }
    }

    /// What stands before and behind whole blocks is widened as elsewhere.
    void widenByNibbles(std::int64_t row, std::int64_t begin, std::int64_t count, float* to) const
    {
        constexpr std::int64_t kTogether = 32; // numbers of a block
        constexpr std::int64_t kMostBlocks = 64;
        const std::int64_t block = m_layout.block;
        const std::int64_t end = begin + count;
        const std::int64_t first = (begin + block - 1) / block;
        const std::int64_t last = end / block;
        if (block % kTogether != 0 || first >= last) {
            return widenPlain<4>(row, begin, count, to);
        }
        if (begin < first * block) {
            widenPlain<4>(row, begin, first * block - begin, to);
        }
        std::array<float, kMostBlocks> zeros;
        std::array<float, kMostBlocks> scales;
        for (std::int64_t from = first; from < last; from += kMostBlocks) {
            const std::int64_t blocks = std::min(kMostBlocks, last - from);
            takeScales(row, from, blocks, zeros.data(), scales.data());
            widenNibbles(packedRow(row) + from * m_layout.bytesOfBlock(), blocks, block, zeros.data(), scales.data(),
                         to + from * block - begin);
        }
        if (last * block < end) {
            widenPlain<4>(row, last * block, end - last * block, to + last * block - begin);
        }
    }

    /// Zero points and scales of some blocks of 4 bits.
    void takeScales(std::int64_t row, std::int64_t first, std::int64_t blocks, float* zeros, float* scales) const
    {
        constexpr float kUsual = 8;
        const std::uint8_t* const packed =
            m_zeros.isValid() ? m_zeros.data<std::uint8_t>() + row * m_layout.bytesOfZeros() : nullptr;
        for (std::int64_t i = 0; i < blocks; ++i) {
            const std::int64_t group = first + i;
            zeros[i] = packed == nullptr ? kUsual : static_cast<float>((packed[group / 2] >> (group % 2 * 4)) & 15);
        }
        if (m_scales.dtype() == DType::Float32) {
            std::copy_n(m_scales.data<float>() + row * m_layout.blocks() + first, blocks, scales);
            return;
        }
        for (std::int64_t i = 0; i < blocks; ++i) {
            scales[i] = static_cast<float>(scaleOf(row, first + i));
        }
    }

    template <int kBits>
    void widenPlain(std::int64_t row, std::int64_t begin, std::int64_t count, float* to) const
    {
        constexpr std::int64_t kPerByte = 8 / kBits;
        constexpr std::int64_t kUsualBlock = 32;
        const std::uint8_t* const packed = packedRow(row);
        const std::int64_t end = begin + count;
        onWidestRegisters([=, this] {
            float* out = to;
            for (std::int64_t k = begin; k < end;) {
                const std::int64_t group = k / m_layout.block;
                const std::int64_t last = std::min(end, (group + 1) * m_layout.block);
                const auto scale = static_cast<float>(scaleOf(row, group));
                const auto zero = static_cast<float>(zeroOf(row, group));
                const std::int64_t whole = k % kPerByte == 0 ? (last - k) / kPerByte * kPerByte : 0;
                if (whole == kUsualBlock) {
                    widenLevels<kBits, kUsualBlock>(packed + k / kPerByte, whole, zero, scale, out);
                } else {
                    widenLevels<kBits, 0>(packed + k / kPerByte, whole, zero, scale, out);
                }
                for (std::int64_t i = k + whole; i < last; ++i) {
                    out[i - k] = (static_cast<float>(packedNumber(packed, i, kBits)) - zero) * scale;
                }
                out += last - k;
                k = last;
            }
        });
    }

    NBitsLayout m_layout;
    Tensor m_data;
    Tensor m_scales;
    Tensor m_zeros;
    Tensor m_groups;
    bool m_areZerosPacked = false;
};

class NBitsRows final : public WeightRows
{
public:
    NBitsRows(std::shared_ptr<const NBitsWeight> weight, WeightVariant variant)
        : WeightRows(weight->shape()[1], weight->shape()[0]), m_weight(std::move(weight)), m_variant(variant)
    {}

    void widen(std::int64_t row, std::int64_t begin, std::int64_t count, float* to) const override
    {
        m_weight->widen(row, begin, count, to);
        applyVariant(to, count, m_variant);
    }
    [[nodiscard]] bool multiplyFew(const TurnedProduct& product, std::int64_t first) const override
    {
        return m_variant.part == WeightPart::All && m_weight->multiplyFew(product, first);
    }
    void fetch(std::int64_t row, std::int64_t begin, std::int64_t count) const override
    {
        m_weight->fetch(row, begin, count);
    }

private:
    std::shared_ptr<const NBitsWeight> m_weight;
    WeightVariant m_variant;
};

std::unique_ptr<const WeightRows> NBitsWeight::columns(WeightVariant variant) const
{
    return std::make_unique<const NBitsRows>(shared_from_this(), variant);
}

base::Result<NBitsLayout> nBitsLayout(const BindContext& context)
{
    const NBitsLayout layout{context.intAttribute("K", 0), context.intAttribute("N", 0),
                             context.intAttribute("bits", 4), context.intAttribute("block_size", 0)};
    if (layout.bits != 2 && layout.bits != 4 && layout.bits != 8) {
        return context.error(fmt::format("bits is {}, but must be 2, 4 or 8", layout.bits));
    }
    const bool isPower = layout.block >= 16 && (layout.block & (layout.block - 1)) == 0;
    if (!isPower || layout.block > kMostBlock) {
        return context.error(
            fmt::format("block_size is {}, but must be a power of two from 16 to {}", layout.block, kMostBlock));
    }
    if (layout.depth <= 0 || layout.rows <= 0) {
        return context.error(fmt::format("K is {} and N is {}, but both must be positive", layout.depth, layout.rows));
    }
    RETRO_CHECK(expectSize(context, {layout.depth, layout.rows}));
    if (context.intAttribute("weight_prepacked", 0) != 0) {
        return context.error("weights that are packed for one machine (weight_prepacked) are not supported");
    }
    return layout;
}

/// The element types and counts of the packed operands.
base::Result<void> expectPacked(const BindContext& context, const NBitsLayout& layout)
{
    const auto countOf = [&](std::size_t slot) { return tensor::elementCount(context.operandTypes[slot].shape); };
    const auto typeOf = [&](std::size_t slot) { return context.operandTypes[slot].dtype; };
    const std::int64_t blocks = layout.rows * layout.blocks();
    if (typeOf(NBitsSlot::kWeight) != DType::UInt8 || countOf(NBitsSlot::kWeight) != blocks * layout.bytesOfBlock()) {
        return context.error(fmt::format("the weights (operand 1) must be {} bytes of uint8: N rows of {} blocks of {} "
                                         "bytes",
                                         blocks * layout.bytesOfBlock(), layout.blocks(), layout.bytesOfBlock()));
    }
    if (!tensor::isFloating(typeOf(NBitsSlot::kScales)) || countOf(NBitsSlot::kScales) != blocks) {
        return context.error(fmt::format("the scales (operand 2) must be {} floating numbers, one per block", blocks));
    }
    if (context.present(NBitsSlot::kZeroPoints)) {
        const bool isPacked = typeOf(NBitsSlot::kZeroPoints) == DType::UInt8;
        const std::int64_t wanted = isPacked ? layout.rows * layout.bytesOfZeros() : blocks;
        if ((!isPacked && !tensor::isFloating(typeOf(NBitsSlot::kZeroPoints))) ||
            countOf(NBitsSlot::kZeroPoints) != wanted) {
            return context.error(fmt::format("the zero points (operand 3) must be {} bytes of uint8, or {} floating "
                                             "numbers",
                                             layout.rows * layout.bytesOfZeros(), blocks));
        }
    }
    return {};
}

/// Groups name blocks that exist. They may go on to the end of the last block, where no column is.
base::Result<void> expectGroups(const BindContext& context, const NBitsLayout& layout)
{
    if (!context.present(NBitsSlot::kGroups)) {
        return {};
    }
    const Tensor groups = context.constants[NBitsSlot::kGroups].to(DType::Int64).contiguous();
    bool isWithin = groups.size() == layout.depth || groups.size() == layout.blocks() * layout.block;
    for (std::int64_t k = 0; isWithin && k < layout.depth; ++k) {
        const std::int64_t group = groups.data<std::int64_t>()[k];
        isWithin = group >= 0 && group < layout.blocks();
    }
    return isWithin ? base::Result<void>()
                    : context.error(fmt::format("g_idx (operand 4) must name, for each of the {} columns, a block from "
                                                "0 to {}",
                                                layout.depth, layout.blocks() - 1));
}

base::Result<void> expectNBits(const BindContext& context)
{
    for (std::size_t slot = 1; slot < context.node.inputs.size(); ++slot) {
        if (context.present(slot) && !context.constant(slot)) {
            return context.error(fmt::format("operand {} must be constant", slot));
        }
    }
    return {};
}

} // namespace

base::Result<std::shared_ptr<const PackedMatrix>> packedNBits(const BindContext& context)
{
    RETRO_CHECK(expectNBits(context));
    RETRO_TRY(const NBitsLayout layout, nBitsLayout(context));
    RETRO_CHECK(expectPacked(context, layout));
    RETRO_CHECK(expectGroups(context, layout));
    std::array<Tensor, NBitsSlot::kBias + 1> given;
    std::copy_n(context.constants.begin(), std::min(context.constants.size(), given.size()), given.begin());
    given[NBitsSlot::kScales] = storedWeight(context, NBitsSlot::kScales);
    return std::shared_ptr<const PackedMatrix>(std::make_shared<const NBitsWeight>(layout, given));
}

base::Result<Tensor> nBitsWeight(const BindContext& context, DType type, std::uint64_t most)
{
    RETRO_TRY(const std::shared_ptr<const PackedMatrix> weight, packedNBits(context));
    if (!tensor::checkedBytes(weight->shape(), type, most).ok()) {
        return context.error("its weights are too large to be widened");
    }
    return weight->widened(type).contiguous();
}

} // namespace retro::ops
