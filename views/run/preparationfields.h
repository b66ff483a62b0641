// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/run/runfacts.h"

#include <QWidget>

class QComboBox;
class QGridLayout;
class QLabel;
class QLineEdit;

namespace retro::views
{

/// Rows of the run panel that say how pixels become numbers: layout, frame, values, mean and std, and a preview of the
/// result.
class PreparationFields final : public QWidget
{
    Q_OBJECT

public:
    explicit PreparationFields(QWidget* parent = nullptr);

    /// Shows a preparation without saying changed().
    void setPreparation(const Preparation& preparation);
    /// What is chosen; unusable custom numbers leave the last usable ones (see problem()).
    [[nodiscard]] const Preparation& preparation() const { return m_preparation; }
    /// What is wrong with custom numbers; empty = nothing.
    [[nodiscard]] const QString& problem() const { return m_problem; }
    void setPreview(const InputPreview& preview);
    /// Arrays are taken as they are: then only the preview is shown.
    void setTakesPictures(bool takesPictures);

signals:
    void changed();

private:
    void addRow(QGridLayout& grid, const QString& name, QWidget& field, const QString& tip);
    QLineEdit* makeNumbers(QGridLayout& grid, const QString& name, const QString& tip);
    void readScale();
    void readPreset();
    void readNumbers();
    void showNumbers();
    void showPreview();
    int scaleIndex();
    int frameIndex();

    Preparation m_preparation;
    InputPreview m_preview;
    QString m_problem;
    QComboBox* m_layout = nullptr;
    QComboBox* m_pixels = nullptr;
    QComboBox* m_frame = nullptr;
    QComboBox* m_scale = nullptr;
    QComboBox* m_preset = nullptr;
    QLineEdit* m_mean = nullptr;
    QLineEdit* m_deviation = nullptr;
    QLabel* m_picture = nullptr;
    QLabel* m_figures = nullptr;
    std::vector<QWidget*> m_rows;   ///< for pictures only
    std::vector<QWidget*> m_custom; ///< only while mean and std are custom
};

} // namespace retro::views
