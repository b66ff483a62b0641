// SPDX-License-Identifier: Apache-2.0
#include "core/engine/verify/reversecourse.h"

#include "core/ops/algebra.h"

#include <fmt/format.h>

namespace retro::engine
{

using tape::Bundle;
using tape::Id;

namespace
{

double sumOf(const Bundle& bundle)
{
    double sum = 0;
    for (const tensor::Tensor& one : bundle.tensors) {
        sum += one.isValid() && tensor::isFloating(one.dtype()) ? ops::algebra::sum(one.contiguous()) : 0;
    }
    return sum;
}

} // namespace

std::string nodeAt(const tape::ModelTape& made, Id id)
{
    return made.nodeOf[id].isValid() ? made.model->graph().node(made.nodeOf[id]).name : made.nameOf(id);
}

std::string placeText(const tensor::Shape& shape, std::int64_t element)
{
    std::string text;
    for (std::size_t axis = shape.size(); axis-- > 0;) {
        text = fmt::format("{}{}{}", element % shape[axis], text.empty() ? "" : ", ", text);
        element /= shape[axis];
    }
    return "[" + text + "]";
}

void CourseRecorder::onCell(Id id, const Bundle& /*upstream*/, const std::vector<tape::Contribution<Bundle>>& list)
{
    m_course.push_back({id, m_made.nameOf(id), nodeAt(m_made, id), {}});
    m_written.emplace_back().reserve(list.size());
}

void CourseRecorder::onSlot(Id /*id*/, Id parent, const Bundle& slot)
{
    m_course.back().written.push_back({m_made.nameOf(parent), nodeAt(m_made, parent), sumOf(slot), 0, false});
    m_written.back().push_back({parent, slot});
}

void CourseRecorder::onPeeled(Id id, const std::vector<Bundle>& rest)
{
    if (m_next >= m_course.size() || m_course[m_next].id != id) {
        return; // a cell whose rule the loop did not run: what it did to the slots shows at the next one
    }
    CourseStep& step = m_course[m_next];
    for (std::size_t i = 0; i < step.written.size(); ++i) {
        const Written& written = m_written[m_next][i];
        step.written[i].recursion = sumOf(rest[written.parent]);
        step.written[i].isEqual = written.slot.bitEqual(rest[written.parent]);
    }
    m_written[m_next].clear();
    ++m_next;
}

} // namespace retro::engine
