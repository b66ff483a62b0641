// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/inspector/tensorslice.h"

#include <QWidget>

class QComboBox;
class QSpinBox;

namespace retro::views
{

/// Chooses the cut through a tensor: the axes of rows and columns, and an index for each of the others. In a narrow
/// pane the controls take more rows.
class SlicePicker final : public QWidget
{
    Q_OBJECT

public:
    explicit SlicePicker(QWidget* parent = nullptr);

    /// Shows another cut; makes other controls when the rank changes.
    void setSlice(const TensorSlice& slice);
    [[nodiscard]] const TensorSlice& slice() const { return m_slice; }

signals:
    /// The user chose another cut.
    void sliceChosen();

private:
    /// A control with its name before it.
    QWidget* addNamed(QWidget* control, const QString& name);
    void makeIndexes();
    void showSlice();
    void choose();

    TensorSlice m_slice;
    QComboBox* m_rows = nullptr;
    QComboBox* m_columns = nullptr;
    std::vector<QSpinBox*> m_indexes;  ///< by axis
    std::vector<QWidget*> m_indexRows; ///< by axis: the index and its name
};

} // namespace retro::views
