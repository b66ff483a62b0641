// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/tape/loops.h"
#include "core/tape/model/modeltape.h"

#include <string>
#include <vector>

namespace retro::engine
{

/// A slot after a step of the reverse pass, in the loop and in the recursion.
struct CourseSlot
{
    std::string value; ///< whose slot
    std::string node;  ///< that makes it; of an input its name
    double loop = 0;   ///< Σ of what the slot holds
    double recursion = 0;
    bool isEqual = true; ///< to the last bit
};

/// A cell whose rule ran, and the slots that it added to.
struct CourseStep
{
    tape::Id id = 0;
    std::string value;
    std::string node;
    std::vector<CourseSlot> written;
};

/// The dense loop beside the recursion, step by step, in the order in which rules run. Empty where the recursion was
/// not run.
using ReverseCourse = std::vector<CourseStep>;

/// Watches the dense loop, is then told of every level of the recursion, and compares both. Holds every slot that the
/// loop wrote until the recursion has come by.
class CourseRecorder final : public tape::Watcher<tape::Bundle>
{
public:
    explicit CourseRecorder(const tape::ModelTape& made) : m_made(made) {}

    /// The loop has taken cell `id`: what arrived there, and what it hands on.
    void onCell(tape::Id id, const tape::Bundle& upstream,
                const std::vector<tape::Contribution<tape::Bundle>>& list) override;
    void onSlot(tape::Id id, tape::Id parent, const tape::Bundle& slot) override;
    /// The recursion has taken cell `id` off; `rest` are the slots below it.
    void onPeeled(tape::Id id, const std::vector<tape::Bundle>& rest);
    [[nodiscard]] ReverseCourse take() { return std::move(m_course); }

private:
    struct Written
    {
        tape::Id parent = 0;
        tape::Bundle slot;
    };

    const tape::ModelTape& m_made;
    ReverseCourse m_course;
    std::vector<std::vector<Written>> m_written; ///< per step
    std::size_t m_next = 0;                      ///< step that the recursion comes to next
};

/// The node of a cell by name; of a leaf the name of its value.
[[nodiscard]] std::string nodeAt(const tape::ModelTape& made, tape::Id id);

/// "[0, 2]": where an element is that is counted in row-major order.
[[nodiscard]] std::string placeText(const tensor::Shape& shape, std::int64_t element);

} // namespace retro::engine
