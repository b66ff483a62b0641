// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/hash128.h"
#include "core/base/ids.h"
#include "core/event/event.h"

#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

namespace retro::program
{

using base::NodeId;
using base::PromiseId;
using base::ValueId;

/// A tensor that an instruction makes; numbered in the order in which they are made.
using BufferId = base::StrongId<struct BufferTag>;
/// An instruction, numbered from 0 over both sections.
using InstructionIndex = std::uint32_t;
inline constexpr InstructionIndex kNever = std::numeric_limits<InstructionIndex>::max();

/// What an instruction does. The first four make up the section ARGS (forward values that rules ask for), the others
/// the section REL.
enum class Opcode : std::uint8_t {
    Fetch,    ///< forward output `item` of `node`, an arg node, from what it saved
    Constant, ///< operand `item` of `node`, which carries no relevance
    Carry,    ///< forward output of pass-through `node` from the value of its tracked operand
    Forward,  ///< forward outputs of `node` from the values of its operands (the op_result of a promise)
    Start,    ///< start relevance `item`, which goes to an output of `node`
    Sum,      ///< relevance of output `item` of `node`: the sum of what its readers sent, in in-edge order
              ///< (Buffer::isJoined)
    Rule,     ///< the relevance rule of `node`
    Snapshot  ///< the LRP checkpoint `node` keeps its relevance
};

/// "fetch", "constant", "carry", "forward", "start", "sum", "rule", "snapshot".
[[nodiscard]] std::string_view nameOf(Opcode opcode);

/// One step of a program. Fixed size; buffers read and made lie in Program::reads and Program::writes.
///
/// Reads of Forward: one per operand slot. Reads of Rule: relevance per output of the node, then a value per operand
/// slot; an invalid buffer stands for nothing arrived, and for what the node saved. Writes of Forward: one per output;
/// of Rule: one part per operand slot. Invalid where nobody reads it.
struct Instruction
{
    Opcode opcode = Opcode::Fetch;
    NodeId node;
    std::uint32_t item = 0;    ///< output or operand slot, as the opcode says
    PromiseId promise;         ///< whose argument this helps to make, or which promise splits; may be invalid
    std::uint32_t branch = 0;  ///< of the promise, when it is an argument
    std::uint32_t outputs = 0; ///< of Rule: how many of the reads are relevance
    std::uint32_t firstRead = 0;
    std::uint32_t readCount = 0;
    std::uint32_t firstWrite = 0;
    std::uint32_t writeCount = 0;
};

/// What is known of a buffer.
struct Buffer
{
    enum class Kind : std::uint8_t {
        Value,    ///< forward output `item` of `node`
        Operand,  ///< operand `item` of `node`
        Relevance ///< relevance, whole or a part
    };
    Kind kind = Kind::Value;
    NodeId node;
    std::uint32_t item = 0;
    InstructionIndex madeBy = 0;
    InstructionIndex lastUse = kNever; ///< kNever: nobody reads it
    bool isJoined = false;             ///< a part that its sum first adds to the part before it
    bool isResult = false;             ///< the whole relevance of a node's output, a result of the run: kept to the end
};

/// Where the relevance of output `output` of `node` lies when the program has ended.
struct RelevanceResult
{
    NodeId node;
    std::uint32_t output = 0;
    BufferId buffer;
};

/// A finished first pass, flattened (docs/program.md): ARGS, then REL, each in an order in
/// which everything is made before it is read. Holds no tensor and no value: it fits every input whose first pass
/// would take the same course, which `key` says. Immutable, shared.
struct Program
{
    base::Hash128 key;
    std::uint32_t starts = 0; ///< start relevances that it takes: one per explained value
    std::vector<Instruction> instructions;
    InstructionIndex argsEnd = 0; ///< the first instruction of REL
    std::vector<BufferId> reads;
    std::vector<BufferId> writes;
    std::vector<Buffer> buffers;
    std::vector<RelevanceResult> results; ///< by decreasing post-order index of the node
    std::uint32_t nodes = 0;              ///< nodes that relevance reaches, inputs included
    std::uint32_t promises = 0;           ///< promises of the first pass

    /// Buffers that a step reads, in the order of its operands.
    [[nodiscard]] std::span<const BufferId> readsOf(const Instruction& step) const
    {
        return {reads.data() + step.firstRead, step.readCount};
    }
    /// Buffers that a step writes.
    [[nodiscard]] std::span<const BufferId> writesOf(const Instruction& step) const
    {
        return {writes.data() + step.firstWrite, step.writeCount};
    }
    /// Of Rule: relevance per output of the node.
    [[nodiscard]] std::span<const BufferId> relevanceOf(const Instruction& step) const
    {
        return readsOf(step).first(step.outputs);
    }
    /// Of Rule: a value per operand slot.
    [[nodiscard]] std::span<const BufferId> operandsOf(const Instruction& step) const
    {
        return readsOf(step).subspan(step.outputs);
    }
};

} // namespace retro::program
