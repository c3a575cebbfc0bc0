import { bug, defineErrors, type ErrorDefinition, transient } from '../../../lib/errors.ts';

const invalid = (status: number, title: string, next: string): ErrorDefinition => ({
  kind: 'invalid',
  status,
  title,
  next,
});

const saveAgain = 'Open the document in the program that made it, save it again, and add that file.';

/** Why a document cannot be read. The reason is stored with the document; it does not stop a run. */
export const documentErrors = defineErrors({
  document_too_large: invalid(
    413,
    'The document is too large',
    'Split the document, or ask the operator to raise the limit named in the message.',
  ),
  document_is_binary: invalid(
    415,
    'The format of the document is not supported',
    'Add it as Markdown, plain text, HTML, PDF, DOCX, PPTX, XLSX, ODT, EPUB, RTF, EML, CSV, VTT or SRT.',
  ),
  document_takes_too_long: invalid(
    422,
    'The document took too long to read',
    `Split the document, or make it simpler. ${saveAgain}`,
  ),
  document_needs_too_much_memory: invalid(
    422,
    'The document needs too much memory to be read',
    `Split the document, or make it simpler. ${saveAgain}`,
  ),
  document_unfolds_too_far: invalid(
    422,
    'The document decompresses to far more than its stored size',
    `Ordinary documents do not do that. ${saveAgain}`,
  ),
  document_reader_failed: bug(
    'The document reader failed',
    'Other documents are not affected. Report the problem, with the document if you may share it.',
  ),
  document_is_broken: invalid(422, 'The document is broken', saveAgain),
  document_is_encrypted: invalid(
    422,
    'The document is encrypted',
    'Save the document without a password and add that file.',
  ),
  html_is_broken: invalid(422, 'The HTML document cannot be read', saveAgain),
  pdf_is_broken: invalid(422, 'The PDF document is broken', saveAgain),
  pdf_is_encrypted: invalid(
    422,
    'The PDF document is encrypted',
    'Save the document without a password and add that file.',
  ),
  pdf_has_no_text: invalid(
    422,
    'The PDF document has no text',
    'If it is a scan, ask the operator for text recognition (KNOWLEDGE_OCR_COMMAND), or add the result of one.',
  ),
  document_needs_ocr: invalid(
    422,
    'The document needs text recognition',
    'Ask the operator to install tesseract and to set KNOWLEDGE_OCR_COMMAND, or add a document with text.',
  ),
  document_ocr_failed: invalid(
    422,
    'Text recognition failed',
    'Check that KNOWLEDGE_OCR_LANGUAGES are installed; or scan the page again, straight and with 300 dpi.',
  ),
  docx_is_broken: invalid(422, 'The Word document is broken', saveAgain),
  docx_is_encrypted: invalid(
    422,
    'The Word document is encrypted',
    'Save the document without a password and add that file.',
  ),
  doc_is_too_old: invalid(
    415,
    'The document is in the Word format from before 2007',
    'Open the document in Word or LibreOffice, save it as DOCX, and add that file.',
  ),
  file_unreadable: transient(
    'The file cannot be read',
    'Check that the file still exists and that the server may read it; the next run tries again.',
  ),
});
