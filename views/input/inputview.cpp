// SPDX-License-Identifier: Apache-2.0
#include "views/input/inputview.h"

#include "core/tensor/npy.h"
#include "views/input/inputpane.h"

namespace retro::views
{

InputView::InputView(RunModel& model, Cursor& cursor, Selection& selection, QWidget* parent)
    : View(model, cursor, selection, parent)
{
    setAccessibleName(tr("Input"));
    setEmptyText(tr("No input yet. Open a model and a picture, then run."));
    m_pane = new InputPane(this);
    m_pane->setAccessibleName(tr("The input of the model"));
    setBody(m_pane);
}

const tensor::Tensor* InputView::input() const
{
    const bool hasInput = model().hasRun() && !model().graph().inputs().empty();
    return hasInput ? model().forwardValue(model().graph().inputs().front()) : nullptr;
}

QString InputView::subject() const
{
    if (!model().hasRun() || model().graph().inputs().empty()) {
        return {};
    }
    QString shape = model().shapeText(model().graph().inputs().front());
    return shape.startsWith(QStringLiteral("1 × ")) ? shape.mid(4) : shape;
}

QString InputView::hint() const
{
    return model().hasRun() && !model().input().isPicture ? tr("The numbers that the model is given.")
                                                          : tr("The picture as the model sees it.");
}

bool InputView::canShow(const SelectedThing& thing) const
{
    if (!model().hasRun()) {
        return false;
    }
    const base::NodeId node = model().nodeOf(thing);
    return node.isValid() && model().graph().isInput(node);
}

QString InputView::sentence() const
{
    const InputInfo& info = model().input();
    QStringList parts;
    if (!info.trueClass.isEmpty()) {
        parts.append(tr("True class %1.").arg(info.trueClass));
    }
    if (info.tagBox) {
        parts.append(tr("The picture carries a %1.").arg(info.tagName.isEmpty() ? tr("mark") : info.tagName));
    }
    if (parts.isEmpty() && !info.fileName.isEmpty()) {
        parts.append(info.fileName);
    }
    return parts.join(QLatin1Char(' '));
}

QString InputView::emptyReason() const
{
    return input() == nullptr ? tr("This run does not hold its input.") : QString();
}

void InputView::refresh(Changes changes)
{
    if (!changes.testFlag(Change::Run) && !m_picture.isNull()) {
        return;
    }
    const tensor::Tensor* values = input();
    m_picture = {};
    if (values == nullptr) {
        return;
    }
    const InputInfo& info = model().input();
    if (info.isPicture) {
        m_picture = pictureOfTensor(*values, info.scaleLow, info.scaleHigh, info.mean, info.deviation,
                                    info.layout == QLatin1String("NHWC"), info.channels == QLatin1String("BGR"));
    }
    if (m_picture.isNull()) {
        const SliceGrid grid = sliceGrid(*values);
        m_picture = heatmapOnly(grid.plane, symmetricScale(grid.plane.values), ColorMap());
    }
    m_pane->setContent(m_picture, sentence());
}

base::Result<void> InputView::exportTo(const std::filesystem::path& path)
{
    if (input() == nullptr) {
        return base::usageError("there is no input to write", path.string());
    }
    return path.extension() == ".npy" ? tensor::writeNpy(path, *input()) : writePicture(path, m_picture);
}

} // namespace retro::views
