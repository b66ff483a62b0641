// SPDX-License-Identifier: Apache-2.0
#include "views/inspector/slicepicker.h"

#include "views/common/paint/fonts.h"
#include "views/common/widgets/boxes.h"
#include "views/common/widgets/flowlayout.h"

#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QSignalBlocker>
#include <QSpinBox>

namespace retro::views
{

SlicePicker::SlicePicker(QWidget* parent) : QWidget(parent)
{
    new FlowLayout(fonts::px(6), fonts::px(4), this);
    const auto makeAxis = [&](const QString& text, const QString& name) {
        auto* combo = new QComboBox(this);
        combo->setAccessibleName(name);
        combo->setToolTip(name);
        addNamed(combo, text);
        return combo;
    };
    m_rows = makeAxis(tr("Rows"), tr("Axis that runs over the rows"));
    m_columns = makeAxis(tr("Columns"), tr("Axis that runs over the columns"));
    connect(m_rows, &QComboBox::activated, this, [this](int axis) {
        m_slice.setRowAxis(axis);
        choose();
    });
    connect(m_columns, &QComboBox::activated, this, [this](int axis) {
        m_slice.setColumnAxis(axis);
        choose();
    });
}

QWidget* SlicePicker::addNamed(QWidget* control, const QString& name)
{
    auto* box = new QWidget(this);
    auto* row = makeBox<QHBoxLayout>(box, {}, fonts::px(6));
    auto* label = new QLabel(name, box);
    label->setFont(fonts::label());
    label->setBuddy(control);
    row->addWidget(label);
    row->addWidget(control);
    layout()->addWidget(box);
    return box;
}

void SlicePicker::choose()
{
    showSlice();
    emit sliceChosen();
}

void SlicePicker::setSlice(const TensorSlice& slice)
{
    const bool isOther = slice.shape() != m_slice.shape() || m_indexes.size() != slice.shape().size();
    m_slice = slice;
    if (isOther) {
        makeIndexes();
    }
    showSlice();
}

void SlicePicker::makeIndexes()
{
    for (QWidget* row : m_indexRows) {
        delete row;
    }
    m_indexRows.clear();
    m_indexes.clear();
    m_rows->clear();
    m_columns->clear();
    for (std::size_t axis = 0; axis < m_slice.shape().size(); ++axis) {
        const QString name = tr("axis %1 (%2)").arg(axis).arg(m_slice.shape()[axis]);
        m_rows->addItem(name);
        m_columns->addItem(name);
        auto* index = new QSpinBox(this);
        index->setRange(0, static_cast<int>(std::max<std::int64_t>(0, m_slice.shape()[axis] - 1)));
        index->setAccessibleName(tr("Index on axis %1").arg(axis));
        index->setToolTip(tr("Which of %1 on axis %2").arg(m_slice.shape()[axis]).arg(axis));
        m_indexRows.push_back(addNamed(index, tr("axis %1").arg(axis)));
        m_indexes.push_back(index);
        connect(index, &QSpinBox::valueChanged, this, [this, axis](int value) {
            m_slice.setIndex(static_cast<int>(axis), value);
            emit sliceChosen();
        });
    }
}

void SlicePicker::showSlice()
{
    m_rows->setCurrentIndex(m_slice.rowAxis());
    m_columns->setCurrentIndex(m_slice.columnAxis());
    m_rows->setEnabled(m_slice.shape().size() > 1);
    m_columns->setEnabled(m_slice.shape().size() > 1);
    for (std::size_t i = 0; i < m_indexes.size(); ++i) {
        const int axis = static_cast<int>(i);
        const bool isFixed = axis != m_slice.rowAxis() && axis != m_slice.columnAxis() && m_slice.shape()[i] > 1;
        const QSignalBlocker quiet(m_indexes[i]);
        m_indexes[i]->setValue(static_cast<int>(m_slice.indexOf(axis)));
        m_indexRows[i]->setVisible(isFixed);
    }
}

} // namespace retro::views

#include "moc_slicepicker.cpp"
